"""Makes golden cases on Apache Hudi itself: `python -m tests.golden.generate [CASE ...]`.

    scenes/      what to write: one function a scene, told once for all releases that can play it
    case         a case: the steps of its scene, each on one release, and what it is for
    table        a table in the hands of a scene: writes, services, questions
    answers      Apache Hudi's answers to the questions, and what it sees inside the table
    damage       ways in which a log file breaks, as functions of its bytes
    player       runs inside Apache Hudi's own environment: plays the steps that one release can play
    __main__     the command: one JVM after the other until every case is told to its end, then packs

A case is written by one release (or by several in turns), answered by the last of them, and answered again by the
judge, release 1.2.0. Data are the same on every run; times, file ids and sizes are Apache Hudi's own.
"""
