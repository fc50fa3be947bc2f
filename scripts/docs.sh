#!/usr/bin/env bash
# Writes what a release ships beside the binary, made from the code:
#   build/completions/kt.{bash,zsh,fish}   build/man/*.1.gz
# Two runs on one commit write the same bytes.
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
go build -ldflags="-s -w" -o build/kt-docs .
trap 'rm -f build/kt-docs' EXIT

for shell in bash zsh fish; do
  build/kt-docs completion "$shell" >"build/completions/kt.$shell"
done
go test ./cmd -count=1 -run TestEveryCommandHasAManPage -man "$PWD/build/man" >/dev/null
gzip -n -9 build/man/*.1 # -n: without name and time
