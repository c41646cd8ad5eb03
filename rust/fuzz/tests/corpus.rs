//! Every input of the corpus through its target; those that once broke something are among them.

use hudini_fuzz::{TARGETS, corpus};

#[test]
fn the_corpus_breaks_nothing() {
    let mut broken = Vec::new();
    for target in TARGETS {
        let inputs = corpus::load(target.name).unwrap();
        assert!(!inputs.is_empty(), "{} has no corpus", target.name);
        for (file, input) in inputs {
            if std::panic::catch_unwind(|| (target.run)(&input)).is_err() {
                broken.push(file.display().to_string());
            }
        }
    }
    assert!(broken.is_empty(), "the panics above, of\n{}", broken.join("\n"));
}

#[test]
fn every_folder_is_that_of_a_target() {
    for entry in std::fs::read_dir(corpus::folder("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(hudini_fuzz::target(&name).is_some(), "corpus/{name} belongs to no target");
    }
}
