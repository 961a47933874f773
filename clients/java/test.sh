#!/bin/sh
# Compiles the client and runs its tests with Debian's JUnit 5: test.sh [REPORTS [METHOD]]. TESTS, CLASS and BUILD name
# other tests than those of the contract.
set -eu
cd "$(dirname "$0")"
jars=/usr/share/java
path=$jars/junit-jupiter-api.jar:$jars/junit-platform-commons.jar:$jars/opentest4j.jar:$jars/apiguardian-api.jar
tests=${TESTS:-test} class=${CLASS:-ContractTest} build=${BUILD:-build}
mkdir -p "$build"
if [ ! -e "$build/done" ] || [ -n "$(find src "$tests" -newer "$build/done" -name '*.java')" ]; then
    javac -Xlint:all,-processing -d "$build" -cp "$path" $(find src "$tests" -name '*.java')
    touch "$build/done"
fi
run=$jars/junit-platform-console.jar:$jars/junit-platform-launcher.jar:$jars/junit-platform-engine.jar
run=$run:$jars/junit-platform-reporting.jar:$jars/opentest4j-reporting-events.jar:$jars/opentest4j-reporting-schema.jar
run=$run:$jars/junit-jupiter-engine.jar:$path:$build
chosen="--select-class=$class"
[ -z "${2:-}" ] || chosen="--select-method=$class#$2(com.payfurl.mockserver.Sandbox)"
exec java -cp "$run:$jars/picocli.jar" org.junit.platform.console.ConsoleLauncher \
    --config junit.jupiter.execution.parallel.enabled=true \
    --disable-banner --fail-if-no-tests --details none --reports-dir "${1:-$build/reports}" "$chosen"
