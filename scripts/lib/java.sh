# shellcheck shell=bash
#
# Java and Maven for the scripts that run servers of the JVM, which source this file.

# Uses of the caller: die, say.

# find_java: prints the path of a Java 17+, or fails.
find_java() {
  local java major
  for java in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java || true)"; do
    [ -n "$java" ] && [ -x "$java" ] || continue
    major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || continue
    if [ "${major:-0}" -ge 17 ]; then
      echo "$java"
      return 0
    fi
  done
  return 1
}

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# install WHAT PACKAGE [PACKAGE]: the first of the packages that there is.
install() {
  local what=$1 package
  shift
  say "installing $what"
  apt-get update >&2 || true
  for package in "$@"; do
    DEBIAN_FRONTEND=noninteractive apt-get install -y "$package" >&2 && return 0
  done
  die "could not install $what (tried: $*)"
}

# Sets JAVA.
need_java() {
  JAVA=$(find_java) && return 0
  if can_install; then
    install "Java 17" openjdk-17-jre-headless default-jre-headless
    JAVA=$(find_java) && return 0
  fi
  die "Java 17 or later is missing: install it (Debian: apt-get install" \
    "openjdk-17-jre-headless; macOS: brew install openjdk@17) and put it on the" \
    "PATH or name it by JAVA_HOME"
}

need_maven() {
  command -v mvn >/dev/null && return 0
  if can_install; then
    install Maven maven
    return 0
  fi
  die "Maven is missing, it fetches the jars: install it (Debian: apt-get" \
    "install maven; macOS: brew install maven) so that mvn is on the PATH"
}

# maven ARG ...: without bars of progress and without control codes. Maven resets colours at its end even where it has none.
maven() { mvn -q -B -ntp -Dstyle.color=never "$@" </dev/null 2>&1 | sed $'s/\033\\[[0-9;]*[A-Za-z]//g' >&2; }

# await_exec PID_FILE COMMAND ...: until COMMAND finds the process that was started last, or it is gone. On a busy machine it
# has the command line of this script for a while, by which COMMAND does not know it.
await_exec() {
  local pid end=$((SECONDS + 30))
  pid=$(cat "$1")
  shift
  until "$@" >/dev/null || ! kill -0 "$pid" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; do sleep 0.1; done
}
