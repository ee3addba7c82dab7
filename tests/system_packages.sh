#!/bin/sh
# What tests need besides Python packages. Installs it where apt-get may; says what is skipped and why where it may not.
# Each line: the command to look for, the package that brings it, what it is for.
set -u

want() {
    command -v "$1" >/dev/null 2>&1 && return
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "tests: $1 is missing and cannot be installed here (apt-get as root): skipping $3"
        return
    fi
    echo "tests: installing $2 for $3"
    { [ -n "${updated:-}" ] || apt-get update -qq; } >/dev/null 2>&1
    updated=yes
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null 2>&1 ||
        echo "tests: $2 could not be installed: skipping $3"
}

want chromium chromium "the studio in a browser"
exit 0
