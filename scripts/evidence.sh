#!/usr/bin/env bash
# The studies behind the claims about real data, two at a time, each with a limit of time; the end of what each prints.
#
#     scripts/evidence.sh FOLDER     output of each study in FOLDER
#
# A study that falls short, or does not end in time, is named at the end, and the exit code is 1.
set -uo pipefail
cd "$(dirname "$0")/.."
out=${1:-studies/out/evidence}
mkdir -p "$out"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
seed=${EVIDENCE_SEED:-20261117}

run() { # name, seconds, command
    local name=$1 limit=$2
    shift 2
    timeout "$limit" .venv/bin/python "$@" >"$out/$name.txt" 2>&1
    echo "$name: exit $? ($(grep -c . "$out/$name.txt") lines)" >>"$out/ends.txt"
}

: >"$out/ends.txt"
run real_columns 3000 studies/real_columns.py --check --seed "$seed" --workers 1 &
{
    run people 1000 studies/people.py --check --seed "$seed"
    run pooling 1400 studies/pooling.py --check --seed "$seed"
    run fit_check 600 -m studies.fit_check --check --seed "$seed"
    run warnings 600 -m studies.warnings_check --check --seed "$seed"
} &
wait
for name in real_columns people pooling fit_check warnings; do
    echo "== $name"
    tail -n 60 "$out/$name.txt"
done
cat "$out/ends.txt"
! grep -qv ": exit 0 " "$out/ends.txt"
