#!/usr/bin/env bash
# Writes what a release ships beside the binary, made from the code:
#   build/completions/kt.{bash,zsh,fish}   build/man/*.1.gz
# Two runs on one commit write the same bytes. Without the binary of this source it builds one.
#   scripts/docs.sh [KT]
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
fi
export SOURCE_DATE_EPOCH

# For this machine, even while GoReleaser builds for another.
unset GOOS GOARCH
rm -rf build/completions build/man
mkdir -p build/completions build/man
kt=${1:-build/kt-docs}
if [ $# = 0 ]; then
  trap 'rm -f build/kt-docs' EXIT
  go build -ldflags="-s -w" -o "$kt" .
fi

for shell in bash zsh fish; do
  "$kt" completion "$shell" >"build/completions/kt.$shell"
done
go test ./cmd -vet=off -count=1 -run TestEveryCommandHasAManPage -man "$PWD/build/man" >/dev/null
gzip -n -9 build/man/*.1 # -n: without name and time
