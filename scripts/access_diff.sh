#!/usr/bin/env bash
# What changes for whom between two commits of a dbt project: builds what decides access of
# both on the same raw rows, each into a schema of its own, and compares them: by the limits and
# the comparison of BASE, with the approvals of HEAD.
#
# Where BASE is not the tip of the branch that HEAD is to be merged into, as where it is what both
# have in common, LIMITS names that tip: or who branches off before a limit would not be held by it.
#
#     scripts/access_diff.sh BASE HEAD [PROJECT]    PROJECT: its folder, the checkout by default
#
# The report goes to stdout, what dbt says to stderr. Ends with 1 where a limit is exceeded or
# a side can't be built. The connection is that of the project's profiles.yml, or else of its
# example; DBT_TARGET names the output. SELECT is what is built of each side.
set -euo pipefail
base=${1:?"usage: scripts/access_diff.sh BASE HEAD [PROJECT]"}
head=${2:?"usage: scripts/access_diff.sh BASE HEAD [PROJECT]"}
project=${3:-.}
checkout=$(git rev-parse --show-toplevel)
select=${SELECT:-+tag:access +tag:secure +explained_access_paths state_definitions}
# The sample's raw tables, whatever project loads them: one schema has them for both sides.
raw='fqn:*.repository.*'
dbt=$checkout/.venv/bin/dbt
[ -x "$dbt" ] || dbt=$(command -v dbt) || {
    echo "There is no dbt in .venv of the checkout, nor among the commands: install one." >&2
    exit 1
}
python=$(dirname "$(readlink -f "$dbt")")/python

work=$(mktemp -d)
clear_away() {
    for side in before after; do
        git -C "$checkout" worktree remove --force "$work/$side" 2> /dev/null || true
    done
    rm -rf "$work"
    git -C "$checkout" worktree prune
}
trap clear_away EXIT

commit_of() {
    git -C "$checkout" rev-parse --verify --quiet --short=12 "$1^{commit}" || {
        echo "There is no commit '$1' in this checkout." >&2
        exit 1
    }
}

# The profile with another schema: both sides have one metastore and one warehouse.
profile() {
    local from=$checkout/$project/profiles.yml
    if [ ! -e "$from" ]; then
        from=$work/profiles.yml
        sed "s|PROJECT_FOLDER|$(cd "$checkout/$project" && pwd)|g" \
            "$checkout/$project/profiles.yml.example" > "$from"
        mkdir -p "$checkout/$project/.spark"
    fi
    mkdir -p "$work/profile_$1"
    "$python" - "$from" "$work/profile_$1/profiles.yml" "$2" "${DBT_TARGET:-}" << 'END'
import sys

import yaml

source, written, schema, target = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    profiles = yaml.safe_load(file)
for name, profile in profiles.items():
    if name != "config":
        profile["outputs"][target or profile["target"]]["schema"] = schema
        profile["target"] = target or profile["target"]
with open(written, "w", encoding="utf-8") as file:
    yaml.safe_dump(profiles, file)
END
}

# dbt on one side: its own models, macros, adapter and Python.
run_dbt() {
    local side=$1
    shift
    (
        cd "$work/$side/$project"
        PYTHONPATH=$work/$side/src "$dbt" --quiet "$@" --profiles-dir "$work/profile_$side"
    )
}

# A schema that the project names whatever the profile says may be the one that readers read.
refuse_other_schemas() {
    local side=$1
    # shellcheck disable=SC2086
    run_dbt "$side" ls --resource-type model --resource-type seed --resource-type snapshot \
        --output json --output-keys name schema --select $select --exclude "$raw" \
        > "$work/$side.jsonl"
    "$python" - "$work/$side.jsonl" "${schema[$side]}" << 'END'
import json
import sys

path, own = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    nodes = [json.loads(line) for line in file if line.startswith("{")]
for node in nodes:
    schema = (node.get("schema") or own).lower()
    if schema != own and not schema.startswith(f"{own}_"):
        sys.exit(
            f"'{node['name']}' would be built in the schema {schema!r}, which is not"
            f" this side's, {own!r}, and may be what readers read: let its +schema"
            " begin with target.schema, or leave it out by SELECT."
        )
END
}

# The file of a seed that a side's project reads, its own or one of a package.
file_of() {
    run_dbt "$1" ls --resource-type seed --select "$2" \
        --output json --output-keys root_path original_file_path > "$work/$1_seeds.jsonl"
    "$python" - "$work/$1_seeds.jsonl" "$1" "$2" << 'END'
import json
import os
import sys

path, side, seed = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    seeds = [json.loads(line) for line in file if line.startswith("{")]
if not seeds:
    sys.exit(f"The project has no seed {seed} ({side}).")
print(os.path.realpath(os.path.join(seeds[0]["root_path"], seeds[0]["original_file_path"])))
END
}

declare -A schema
before_commit=$(commit_of "$base")
after_commit=$(commit_of "$head")
limits_commit=$(commit_of "${LIMITS:-$base}")
if [ "$before_commit" = "$after_commit" ]; then
    echo "'$base' and '$head' are one commit: there is nothing to compare." >&2
    exit 1
fi
schema[before]=access_diff_$before_commit
schema[after]=access_diff_$after_commit
for side in before after; do
    commit=${side}_commit
    git -C "$checkout" worktree add --quiet --detach "$work/$side" "${!commit}"
    profile "$side" "${schema[$side]}"
    if [ -e "$work/$side/$project/packages.yml" ]; then
        run_dbt "$side" deps >&2
    fi
    refuse_other_schemas "$side"
    if [ "$side" = before ]; then
        # With the sample's raw rows, where the project reads them: those of the base, for both.
        # shellcheck disable=SC2086
        run_dbt before seed --select $select >&2
    fi
    # shellcheck disable=SC2086
    run_dbt "$side" build --select $select --exclude "$raw" \
        resource_type:test resource_type:unit_test >&2
done
states="before: ${schema[before]}, after: ${schema[after]}"
# Or whoever raises a limit, or edits the comparison, would judge the own change by it. An
# approval is of exactly these changes, and stands in the commit that makes them.
approved=$(file_of after access_change_approvals)
judged=$(file_of before access_change_approvals)
own=$(realpath "$work/before")
case $judged in
    "$own"/*) cp "$approved" "$judged" ;;
    # A package elsewhere, which nobody's commit edits.
    *) ;;
esac
limits=$(file_of before access_change_limits)
proposed=$(file_of after access_change_limits)
is_as_it_was=false
cmp -s "$proposed" "$limits" && is_as_it_was=true
case $limits in
    "$own"/*)
        # One that it has not yet, or no longer, is as the base has it.
        newest=$limits_commit:${limits#"$own"/}
        if git -C "$checkout" cat-file -e "$newest" 2> /dev/null; then
            git -C "$checkout" show "$newest" > "$limits"
        fi
        ;;
    *) ;;
esac
cmp -s "$proposed" "$limits" && is_as_it_was=true
# Limits that can't be read, or are about nothing, would hold up every commit after this one; what
# is no longer there, as a group that was renamed, is no fault of one that leaves them as they are.
run_dbt after run-operation secure_datasets.check_comparison \
    --vars "{$states, limits_are_of_base: $is_as_it_was}" >&2
status=0
run_dbt before build --select tag:access_changes \
    --vars "{$states, limits_are_of_base: true}" >&2 || status=$?
report=$work/before/$project/target/access_changes.md
if [ -e "$report" ]; then
    cat "$report"
fi
exit "$status"
