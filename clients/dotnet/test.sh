#!/bin/sh
# Compiles the client with mono and runs its tests with NUnit 2.6: test.sh [REPORT [METHOD]]. TESTS, CLASS
# and BUILD name other tests than those of the contract.
set -eu
cd "$(dirname "$0")"
nunit=/usr/lib/cli/nunit.framework-2.6.3/nunit.framework.dll
tests=${TESTS:-test} class=${CLASS:-ContractTest} build=${BUILD:-build}
mkdir -p "$build"
if [ ! -e "$build/$class.dll" ] || [ -n "$(find src "$tests" -newer "$build/$class.dll" -name '*.cs')" ]; then
    mcs -nologo -warnaserror -target:library -out:"$build/$class.dll" -r:"$nunit" -r:System.Net.Http.dll src/*.cs "$tests"/*.cs
fi
chosen=$class
[ -z "${2:-}" ] || chosen="$class.$(printf %s "$2" | cut -c1 | tr a-z A-Z)$(printf %s "$2" | cut -c2-)"
exec nunit-console -nologo -noshadow -nodots -xml:"${1:-$build/report.xml}" -run:"$chosen" "$build/$class.dll"
