#!/bin/sh
# Compiles the client with mono and runs its tests with NUnit 2.6: test.sh [REPORT [METHOD]].
set -eu
cd "$(dirname "$0")"
nunit=/usr/lib/cli/nunit.framework-2.6.3/nunit.framework.dll
mkdir -p build
if [ ! -e build/ContractTest.dll ] || [ -n "$(find src test -newer build/ContractTest.dll -name '*.cs')" ]; then
    mcs -nologo -warnaserror -target:library -out:build/ContractTest.dll -r:"$nunit" -r:System.Net.Http.dll src/*.cs test/*.cs
fi
chosen=ContractTest
[ -z "${2:-}" ] || chosen="ContractTest.$(printf %s "$2" | cut -c1 | tr a-z A-Z)$(printf %s "$2" | cut -c2-)"
exec nunit-console -nologo -noshadow -nodots -xml:"${1:-build/report.xml}" -run:"$chosen" build/ContractTest.dll
