#!/usr/bin/env bash
# Installs mockserver apart from the job's own Python, and puts that one command on the PATH: the job's `python` and `pip`
# stay what they are. A second use of the action in a job finds it installed: from there the job has one package, so that
# `judge` is never another version than the server of `serve`.
set -euo pipefail
home=$RUNNER_TEMP/mockserver
# Of an expression that gave nothing, as `${{ inputs.wheel }}`, blanks may be left.
[[ -n ${INPUT_PACKAGE//[[:space:]]/} ]] || INPUT_PACKAGE=
if [[ -x $home/bin/mockserver ]]; then
    [[ -e $home/package ]] && installed=$(<"$home/package") || installed=
    [[ -z $INPUT_PACKAGE || $INPUT_PACKAGE == "$installed" ]] && exit
    echo "::error title=mockserver::package: got '$INPUT_PACKAGE', but this job has installed" \
        "'${installed:-the repository of the action}' before: give every use the same package, or none after the first"
    exit 2
fi

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "::error title=mockserver::needs Python 3.11 or later on the PATH, such as by actions/setup-python"
    exit 2
fi
if [[ -n $INPUT_PACKAGE ]]; then
    # Not quoted: vendor/*.whl is a pattern, and several words are several packages.
    # shellcheck disable=SC2206
    packages=($INPUT_PACKAGE)
else
    packages=("$GITHUB_ACTION_PATH")
fi
python3 -m venv "$home/venv"
"$home/venv/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
mkdir -p "$home/bin"
printf %s "$INPUT_PACKAGE" >"$home/package"
ln -sf "$home/venv/bin/mockserver" "$home/bin/mockserver"
echo "$home/bin" >>"$GITHUB_PATH"
