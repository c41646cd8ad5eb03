#!/bin/sh
# Succeeds if there is a Java that Spark 4 runs on (17 or newer); else says how to get one.
java=java
[ -n "${JAVA_HOME:-}" ] && java=$JAVA_HOME/bin/java
# The first line reads: openjdk version "17.0.15" 2025-04-15
major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
[ "${major:-0}" -ge 17 ] && exit 0
found=none
[ -n "$major" ] && found="only Java $major"
cat >&2 <<HELP
Spark needs Java 17 or newer; $found was found. One of these brings it:
    apt install openjdk-17-jdk-headless       (Debian, Ubuntu)
    brew install openjdk@17                   (macOS)
    sdk install java 17-tem                   (SDKMAN, anywhere)
HELP
exit 1
