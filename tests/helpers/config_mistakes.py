"""A config with an entry of every shape, and the mistakes that can be made in it."""

# A config with an entry of every shape; each of its lines is there once.
DOCUMENT = """
tiers:
    source: {access_view: source_access, object_keys: [source_id], carries: [kind]}
    team: {access_view: team_access, object_keys: [team_id], carries: [kind]}
    result: {access_view: result_access, object_keys: [team_id, source_id], carries: []}

datasets:
    jobs:
        base: all_jobs
        columns: [job_id, team_id, job_name]
        unique_key: [job_id]
        tier: team
        keys: {team_id: team_id}
    runs:
        base: all_runs
        columns: [run_id, team_id, run_name, test_id, control_id]
        unique_key: [run_id]
        tier: result
        keys: {team_id: team_id, source_id: test_id}
        second_side:
            keys: {team_id: team_id, source_id: control_id}
            unless_null: control_id
    news:
        base: all_news
        columns: [news_id, reach, team_id, source_id]
        unique_key: [news_id]
        switch:
            column: reach
            cases:
                Team: {tier: team, keys: {team_id: team_id}}
                Source: {tier: source, keys: {source_id: source_id}}
                World: {visible_to: everyone}
    notes:
        base: vw_secure_dataset_news
        columns: [news_id, reach]
        unique_key: [news_id]
    leads: {base: all_leads, columns: [lead_id, note], unique_key: [lead_id],
        tier: source, keys: {source_id: lead_id}, view_authorization: true}
    calls: {base: vw_secure_dataset_leads, columns: [lead_id], unique_key: [lead_id],
        view_authorization: yes}
    revenue:
        query:
            dimensions: {country: shops.country}
            measures: {revenue: sum(sales.price)}
        columns: [country, revenue]
        unique_key: [country]
        visible_to: everyone
    stores:
        base: shops
        columns: [shop_id, town]
        unique_key: [shop_id]
        visible_to: everyone

policies:
    - {role: Auditors, resource: jobs, condition: job_name is not null}
    - {role: Editors, resource: jobs, check: false}
    - {role: Auditors, resource: runs.run_name, mask: 0, mask_order: 1}
    - {role: Editors, resource: runs.run_name, mask: upper(run_name), mask_order: 2}

relations:
    sales:
        kind: fact
        columns: {sale_id: bigint, shop_id: bigint, price: bigint}
    shops:
        kind: dimension
        columns: {shop_id: bigint, town: string, country: string}
        levels: [[shop_id], [town], [country]]
    town_staff:
        kind: mapping
        columns: {staff_id: bigint, town_name: string}
row_security:
    - unique_name: towns
      object_type: row_security
      label: Towns
      dataset: town_staff
      filter_key_column: town_name
      ids_column: staff_id
      id_type: user
      scope: fact
      use_filter_key: true
      secure_totals: false
relationships:
    - from: {dataset: sales, join_columns: [shop_id]}
      to: {dataset: shops}
    - from: {dataset: shops, join_columns: [town]}
      to: {row_security: towns}
"""

SECOND_SIDE = "{team_id: team_id, source_id: control_id}"
TIER_OF_RUNS = DOCUMENT[
    DOCUMENT.index("        tier: result") : DOCUMENT.index("    news:")
]
SWITCH = DOCUMENT[DOCUMENT.index("switch:") : DOCUMENT.index("\n    notes:")]
CASES = DOCUMENT[DOCUMENT.index("cases:") : DOCUMENT.index("\n    notes:")]
POLICIES = DOCUMENT[DOCUMENT.index("policies:") : DOCUMENT.index("\nrelations:")]
STAR = DOCUMENT[DOCUMENT.index("relations:") :]
SALES = STAR[STAR.index("    sales:") : STAR.index("    shops:")]
SALES_TO_SHOPS = STAR[STAR.index("    - from: {dataset: sales") : -1]
SALES_TO_SHOPS = SALES_TO_SHOPS[: SALES_TO_SHOPS.index("    - from: {dataset: shops")]
QUERY = DOCUMENT[DOCUMENT.index("query:") : DOCUMENT.index("        columns: [country")]
ROW_SECURITY = STAR[STAR.index("row_security:") : STAR.index("relationships:")]
RELATIONSHIPS = STAR[STAR.index("relationships:") :]
AUDITORS = "policy 1, role 'Auditors' on 'jobs'"
MASKED = "policy 3, role 'Auditors' on 'runs.run_name'"

# What is edited, what it becomes, and what dbt says then.
MISTAKES = {
    # The whole document
    "it does not parse": (
        "tiers:",
        "tiers: [",
        "the config: is not a YAML mapping; it does not parse",
    ),
    "a role is a * without quotes": (
        "policies:",
        "policies:\n    - {role: *, resource: jobs, check: true}",
        "a value that begins with * or holds ': ' stands in quotes",
    ),
    "a value holds a colon, and no quotes": (
        "condition: job_name is not null",
        "condition: job_name = 'a': 'b'",
        "a value that begins with * or holds ': ' stands in quotes",
    ),
    "it has an unknown part": ("datasets:", "dataset:", "unknown key 'dataset'"),
    "a dataset was renamed from one that is there": (
        "        base: all_jobs",
        "        renamed_from: runs\n        base: all_jobs",
        "dataset 'jobs': 'renamed_from' names 'runs', which is there still",
    ),
    "a dataset's name is true in YAML": (
        "    jobs:",
        "    on:",
        "the config: 'datasets' has 'True', which is not a lower snake case name",
    ),
    "a dataset is called as a word of SQL": (
        "    jobs:",
        "    left:",
        "the config: 'datasets' has 'left', which is a word of SQL and no name",
    ),
    "a column is called as a constant of SQL": (
        "job_name]",
        "'null']",
        "dataset 'jobs': 'columns' has 'null', which is a word of SQL and no name",
    ),
    # Tiers
    "a tier has an unknown key": (
        "carries: []",
        "carry: []",
        "tier 'result': unknown key 'carry'",
    ),
    "a tier lacks a key": (
        "access_view: team_access, ",
        "",
        "tier 'team': the key 'access_view' is missing",
    ),
    "a tier's key has no value": (
        "carries: []",
        "carries: null",
        "tier 'result': the key 'carries' is missing",
    ),
    "a tier is not a mapping": (
        "{access_view: team_access, object_keys: [team_id], carries: [kind]}",
        "team_access",
        "tier 'team': must be a mapping",
    ),
    "a tier has no object keys": (
        "object_keys: [team_id],",
        "object_keys: [],",
        "tier 'team': 'object_keys' is empty",
    ),
    "a tier names its user": (
        "[team_id, source_id]",
        "[user_id, source_id]",
        "tier 'result': user_id is in every access view",
    ),
    "a tier carries its user": (
        "carries: []",
        "carries: [user_id]",
        "tier 'result': user_id is in every access view",
    ),
    "a right without its key": (
        "object_keys: [team_id, source_id],",
        "object_keys: [team_id, source_id],"
        " right: {object_type: Team, permission: See},",
        "tier 'result': 'right' needs 'key': which of 'object_keys' names its object",
    ),
    "a right on a column that is no key": (
        "object_keys: [team_id],",
        "object_keys: [team_id],"
        " right: {object_type: Team, permission: See, key: source_id},",
        "tier 'team': 'key' names 'source_id', which is not among 'object_keys'",
    ),
    "a tier carries a text": (
        "carries: []",
        "carries: kind",
        "tier 'result': 'carries' must be a list of names",
    ),
    # Datasets
    "a dataset has an unknown key": (
        "base: all_jobs",
        "bse: all_jobs",
        "dataset 'jobs': unknown key 'bse'",
    ),
    "a dataset's key is true in YAML": (
        "tier: team\n",
        "on: team\n",
        "dataset 'jobs': unknown key 'True'",
    ),
    "a dataset is open to everyone": (
        TIER_OF_RUNS,
        "        visible_to: everyone\n",
        "dataset 'runs': is 'visible_to: everyone', which needs a permissive condition",
    ),
    "a dataset lacks its base": (
        "        base: all_jobs\n",
        "",
        "dataset 'jobs': the key 'base' is missing",
    ),
    "a dataset's base is not a name": (
        "all_jobs",
        "All Jobs",
        "dataset 'jobs': 'base' has 'All Jobs'",
    ),
    "a dataset is not a mapping": (
        "    runs:\n",
        "    runs: [all_runs]\n    other:\n",
        "dataset 'runs': must be a mapping",
    ),
    "a dataset declares nothing": (
        "    runs:\n",
        "    runs:\n    other:\n",
        "dataset 'runs': must be a mapping",
    ),
    "a dataset has no columns": (
        "[job_id, team_id, job_name]",
        "[]",
        "dataset 'jobs': 'columns' is empty",
    ),
    "a dataset's columns have no value": (
        " [job_id, team_id, job_name]",
        "",
        "dataset 'jobs': the key 'columns' is missing",
    ),
    "a dataset's columns are a text": (
        "[job_id, team_id, job_name]",
        "job_id, team_id, job_name",
        "dataset 'jobs': 'columns' must be a list of names",
    ),
    "a column is there twice": (
        "team_id, job_name]",
        "team_id, job_id]",
        "dataset 'jobs': 'columns' names a column twice",
    ),
    "a column's name is false in YAML": (
        "job_name]",
        "no]",
        "dataset 'jobs': 'columns' has 'False'",
    ),
    "a column's name has capitals": (
        "job_name]",
        "Job_Name]",
        "dataset 'jobs': 'columns' has 'Job_Name'",
    ),
    "a column's name is more than a name": (
        "job_name]",
        "'1 as job_name']",
        "dataset 'jobs': 'columns' has '1 as job_name'",
    ),
    "the base has the user already": (
        "job_name]",
        "user_id]",
        "dataset 'jobs': the base has a column 'user_id' already",
    ),
    "the base has what the tier carries": (
        "job_name]",
        "kind]",
        "dataset 'jobs': the base has a column 'kind' already",
    ),
    "the unique key is misspelt": (
        "[job_id]",
        "[jbo_id]",
        "dataset 'jobs': 'unique_key' names 'jbo_id'",
    ),
    "the unique key is a text": (
        "[job_id]",
        "job_id",
        "dataset 'jobs': 'unique_key' must be a list of names",
    ),
    # Tier and keys
    "there is no tier": (
        "        tier: team\n",
        "",
        "dataset 'jobs': the key 'tier' is missing, and without a tier nobody",
    ),
    "the tier has no value": (
        "        tier: team\n",
        "        tier:\n",
        "dataset 'jobs': the key 'tier' is missing",
    ),
    "the tier is unknown": (
        "tier: team\n",
        "tier: teem\n",
        "dataset 'jobs': unknown tier 'teem'; known are source, team, result",
    ),
    "there are two tiers": (
        "tier: team\n",
        "tier: [team, source]\n",
        "dataset 'jobs': unknown tier '['team', 'source']'",
    ),
    "there are no keys": (
        "        keys: {team_id: team_id}\n",
        "",
        "dataset 'jobs': the key 'keys' is missing",
    ),
    "the keys are a list": (
        "        keys: {team_id: team_id}\n",
        "        keys: [team_id]\n",
        "dataset 'jobs': the key 'keys' is missing, or does not map",
    ),
    "a key column is missing": (
        "{team_id: team_id, source_id: test_id}",
        "{source_id: test_id}",
        "dataset 'runs': 'keys' lacks the key column 'team_id'",
    ),
    "a key column is too many": (
        "        keys: {team_id: team_id}\n",
        "        keys: {team_id: team_id, source_id: job_id}\n",
        "dataset 'jobs': 'keys' has 'source_id', which is no key column of its tier",
    ),
    "a key is misspelt": (
        "        keys: {team_id: team_id}\n",
        "        keys: {team_id: taem_id}\n",
        "dataset 'jobs': 'keys' names 'taem_id', which is not among its columns",
    ),
    "a key has no value": (
        "        keys: {team_id: team_id}\n",
        "        keys: {team_id: }\n",
        "dataset 'jobs': 'keys' has 'None'",
    ),
    "a column holds two keys": (
        "{team_id: team_id, source_id: test_id}",
        "{team_id: test_id, source_id: test_id}",
        "dataset 'runs': 'keys' names a column twice",
    ),
    # The second side
    "the second side has no value": (
        f"second_side:\n            keys: {SECOND_SIDE}\n"
        "            unless_null: control_id",
        "second_side:",
        "dataset 'runs', second_side: must be a mapping",
    ),
    "the second side always holds": (
        "            unless_null: control_id\n",
        "",
        "dataset 'runs', second_side: the key 'unless_null' is missing",
    ),
    "the second side lacks its keys": (
        f"            keys: {SECOND_SIDE}\n",
        "",
        "dataset 'runs', second_side: the key 'keys' is missing",
    ),
    "the second side lacks a key column": (
        SECOND_SIDE,
        "{source_id: control_id}",
        "dataset 'runs', second_side: 'keys' lacks the key column 'team_id'",
    ),
    "the second side has a tier": (
        "            unless_null: control_id",
        "            unless_null: control_id\n            tier: team",
        "dataset 'runs', second_side: unknown key 'tier'",
    ),
    "the null of a wrong column decides": (
        "unless_null: control_id",
        "unless_null: run_name",
        "dataset 'runs', second_side: 'keys' must differ from the first side's in one"
        " column, and 'unless_null' must name it, not 'run_name'",
    ),
    "the null of the first side decides": (
        "unless_null: control_id",
        "unless_null: team_id",
        "'unless_null' must name it, not 'team_id'",
    ),
    "the second side is the first once more": (
        f"{SECOND_SIDE}\n            unless_null: control_id",
        "{team_id: team_id, source_id: test_id}\n            unless_null: test_id",
        "dataset 'runs', second_side: 'keys' must differ from the first side's",
    ),
    "the second side leaves the team": (
        SECOND_SIDE,
        "{team_id: run_id, source_id: control_id}",
        "dataset 'runs', second_side: 'keys' must differ from the first side's in one",
    ),
    # Columns that are not checked
    "what is not checked has no value": (
        "        keys: {team_id: team_id}\n",
        "        keys: {team_id: team_id}\n        unchecked:\n",
        "dataset 'jobs': 'unchecked' must map columns to the reasons",
    ),
    "what is not checked has no reasons": (
        "        keys: {team_id: team_id}\n",
        "        keys: {team_id: team_id}\n        unchecked: [job_name]\n",
        "dataset 'jobs': 'unchecked' must map columns to the reasons",
    ),
    "what is not checked has an empty reason": (
        "        keys: {team_id: team_id}\n",
        "        keys: {team_id: team_id}\n        unchecked: {job_name: ' '}\n",
        "dataset 'jobs': 'unchecked' gives no reason for 'job_name'",
    ),
    "what is not checked is misspelt": (
        "        keys: {team_id: team_id}\n",
        "        keys: {team_id: team_id}\n        unchecked: {name: No right.}\n",
        "dataset 'jobs': 'unchecked' names 'name', which is not among its columns",
    ),
    "what is not checked is a key": (
        "        keys: {team_id: team_id}\n",
        "        keys: {team_id: team_id}\n        unchecked: {team_id: No right.}\n",
        "dataset 'jobs': 'unchecked' names 'team_id', which is among the keys",
    ),
    "what is not checked has no tier": (
        "[news_id, reach]\n",
        "[news_id, reach]\n        unchecked: {reach: No right.}\n",
        "dataset 'notes': 'unchecked' must not stand over a secure dataset",
    ),
    # The switch
    "a switch has no value": (
        SWITCH,
        "switch:",
        "dataset 'news', switch: must be a mapping",
    ),
    "a switch stands beside a tier": (
        "        switch:\n",
        "        tier: team\n        switch:\n",
        "dataset 'news': 'tier' belongs into the cases of 'switch'",
    ),
    "a switch stands beside a second side": (
        "        switch:\n",
        "        second_side: {}\n        switch:\n",
        "dataset 'news': 'second_side' belongs into the cases of 'switch'",
    ),
    "a switch has an unknown key": (
        "            column: reach\n",
        "            column: reach\n            default: everyone\n",
        "dataset 'news', switch: unknown key 'default'",
    ),
    "a switch has a misspelt column": (
        "column: reach",
        "column: raech",
        "dataset 'news': 'switch.column' names 'raech'",
    ),
    "a switch has no cases": (
        CASES,
        "cases: {}",
        "dataset 'news': 'switch.cases' must map each value to its rule",
    ),
    "a switch has a list of cases": (
        CASES,
        "cases: [Team, World]",
        "dataset 'news': 'switch.cases' must map each value to its rule",
    ),
    "a case is true in YAML": (
        "                Team:",
        "                yes:",
        "dataset 'news', case 'True': 'switch.cases' has a value that is not text",
    ),
    "a case has no rule": (
        "World: {visible_to: everyone}",
        "World:",
        "dataset 'news', case 'World': must be a mapping",
    ),
    "a case has an empty rule": (
        "World: {visible_to: everyone}",
        "World: {}",
        "dataset 'news', case 'World': the key 'tier' is missing",
    ),
    "a case has an unknown key": (
        "World: {visible_to: everyone}",
        "World: {visible: everyone}",
        "dataset 'news', case 'World': unknown key 'visible'",
    ),
    "a case is visible to somebody": (
        "{visible_to: everyone}",
        "{visible_to: admins}",
        "dataset 'news', case 'World': 'visible_to' must be 'everyone' and stand alone",
    ),
    "a case is visible to no value": (
        "{visible_to: everyone}",
        "{visible_to: null}",
        "dataset 'news', case 'World': 'visible_to' must be 'everyone' and stand alone",
    ),
    "a case has a tier and is visible to everyone": (
        "Team: {tier: team,",
        "Team: {visible_to: everyone, tier: team,",
        "dataset 'news', case 'Team': 'visible_to' must be 'everyone' and stand alone",
    ),
    "a case has an unknown tier": (
        "Source: {tier: source,",
        "Source: {tier: sauce,",
        "dataset 'news', case 'Source': unknown tier 'sauce'",
    ),
    "a case has a misspelt key": (
        "{source_id: source_id}",
        "{source_id: sorce_id}",
        "dataset 'news', case 'Source': 'keys' names 'sorce_id'",
    ),
    "the tiers of the cases carry different things": (
        "object_keys: [source_id], carries: [kind]",
        "object_keys: [source_id], carries: []",
        "dataset 'news': the tiers of its cases differ in 'carries'",
    ),
    "every case is visible to everyone": (
        "                Team: {tier: team, keys: {team_id: team_id}}\n"
        "                Source: {tier: source, keys: {source_id: source_id}}\n",
        "",
        "dataset 'news': 'switch.cases' has no case with a tier",
    ),
    # A dataset over another, or for everyone
    "a dataset over a secure dataset has a tier": (
        "        base: vw_secure_dataset_news\n",
        "        base: vw_secure_dataset_news\n        tier: team\n",
        "dataset 'notes': 'tier' must not stand over a secure dataset",
    ),
    "a dataset is over one that is not there": (
        "base: vw_secure_dataset_news",
        "base: vw_secure_dataset_views",
        "dataset 'notes': its base 'vw_secure_dataset_views' is no secure dataset",
    ),
    "a dataset is over itself": (
        "base: vw_secure_dataset_news",
        "base: vw_secure_dataset_notes",
        "dataset 'notes': its base 'vw_secure_dataset_notes' is no secure dataset",
    ),
    "a dataset has a column that the one below has not": (
        "columns: [news_id, reach]",
        "columns: [news_id, range]",
        "dataset 'notes': 'columns' has 'range', which 'vw_secure_dataset_news' has",
    ),
    "a dataset tells its rows apart otherwise than the one below": (
        "columns: [news_id, reach]\n        unique_key: [news_id]",
        "columns: [news_id, reach]\n        unique_key: [reach]",
        "dataset 'notes': 'unique_key' lacks 'news_id', by which",
    ),
    "a dataset is called as a relation": (
        "    stores:\n",
        "    shops:\n",
        "dataset 'shops': it is called as a relation of the star",
    ),
    "a dataset with a tier is open to everyone": (
        "tier: team\n",
        "tier: team\n        visible_to: everyone\n",
        "dataset 'jobs': 'visible_to' must be 'everyone' and stand without a tier",
    ),
    # View authorization
    "view authorization is a text": (
        "view_authorization: true",
        "view_authorization: 'true'",
        "dataset 'leads': 'view_authorization' must be true or false",
    ),
    "view authorization has no value": (
        "view_authorization: true",
        "view_authorization: null",
        "dataset 'leads': 'view_authorization' must be true or false",
    ),
    "view authorization names an owner": (
        "view_authorization: yes",
        "view_authorization: {owner_user_id: 12}",
        "dataset 'calls': 'view_authorization' must be true or false",
    ),
    "view authorization stands over a dataset that is not under it": (
        "view_authorization: true",
        "view_authorization: false",
        "dataset 'calls': 'view_authorization' stands over 'vw_secure_dataset_leads'",
    ),
    "a dataset under view authorization has a column that it needs": (
        "[lead_id, note]",
        "[lead_id, view_outcome]",
        "dataset 'leads': has a column 'view_outcome', a name that view authorization",
    ),
    "row security restricts a view in a chain and not its end": (
        ROW_SECURITY + "relationships:\n",
        f"""    vw_secure_dataset_leads:
        {{kind: dimension, columns: {{lead_id: string}}}}
{ROW_SECURITY}relationships:
    - from: {{dataset: vw_secure_dataset_leads, join_columns: [lead_id]}}
      to: {{row_security: towns}}
""",
        "dataset 'calls': row_security 'towns' restricts it, and must restrict the end",
    ),
    # Policies
    "the policies are a mapping": (
        POLICIES,
        "policies: {jobs: Auditors}",
        "the config: 'policies' must be a list of entries",
    ),
    "the policies have no value": (
        POLICIES,
        "policies:",
        "the config: 'policies' must be a list of entries",
    ),
    "a policy is a text": (
        "{role: Editors, resource: jobs, check: false}",
        "Editors",
        "policy 2: must be a mapping",
    ),
    "a policy has an unknown key": (
        "check: false",
        "checks: false",
        "policy 2: unknown key 'checks'",
    ),
    "a policy lacks its role": (
        "role: Editors, resource: jobs",
        "resource: jobs",
        "policy 2: the key 'role' is missing",
    ),
    "a policy's role is true in YAML": (
        "role: Editors, resource: jobs",
        "role: yes, resource: jobs",
        "policy 2: 'role' must be a text",
    ),
    "a policy lacks its resource": (
        "resource: jobs, check",
        "check",
        "policy 2: the key 'resource' is missing",
    ),
    "a policy's resource is a list": (
        "resource: jobs, check",
        "resource: [jobs], check",
        "policy 2: 'resource' must be a text",
    ),
    "a policy is on an unknown dataset": (
        "resource: jobs, check",
        "resource: jbos, check",
        "policy 2, role 'Editors' on 'jbos': unknown dataset 'jbos'; known are jobs",
    ),
    "a policy is on an unknown column": (
        "resource: runs.run_name, mask: 0",
        "resource: runs.name, mask: 0",
        "'resource' names 'name', which is not among its columns",
    ),
    "a policy is on a part of a column": (
        "resource: runs.run_name, mask: 0",
        "resource: runs.run_name.first, mask: 0",
        "'resource' names 'run_name.first', which is not among its columns",
    ),
    "a dataset with policies has a column that they need": (
        "columns: [job_id, team_id, job_name]",
        "columns: [job_id, team_id, job_name, held_roles]",
        f"{AUDITORS}: the dataset has a column 'held_roles'",
    ),
    "a condition has no value": (
        "condition: job_name is not null",
        "condition: null",
        f"{AUDITORS}: 'condition' must be an SQL expression",
    ),
    "a condition is a number": (
        "condition: job_name is not null",
        "condition: 1",
        f"{AUDITORS}: 'condition' must be an SQL expression",
    ),
    "a condition leaves its brackets": (
        "condition: job_name is not null",
        "condition: 'false) or (true'",
        f"{AUDITORS}: the brackets of 'condition' don't match",
    ),
    "a condition's brackets stay open": (
        "condition: job_name is not null",
        "condition: '((true)'",
        f"{AUDITORS}: the brackets of 'condition' don't match",
    ),
    "a condition's quote stays open": (
        "condition: job_name is not null",
        """condition: "job_name = 'a" """,
        f"{AUDITORS}: 'condition' has a quote without its other end",
    ),
    "a condition has a comment": (
        "condition: job_name is not null",
        "condition: 'false -- or true'",
        f"{AUDITORS}: 'condition' has a comment or a semicolon",
    ),
    "a condition is two statements": (
        "condition: job_name is not null",
        "condition: 'true; select 1'",
        f"{AUDITORS}: 'condition' has a comment or a semicolon",
    ),
    "a subquery does not say whose column it means": (
        "condition: job_name is not null",
        "condition: 'team_id in (select team_id from teams)'",
        f"{AUDITORS}: 'condition' names 'team_id' in a subquery without its relation",
    ),
    "a subquery stands where its null would be taken for false": (
        "condition: job_name is not null",
        "condition: 'coalesce(team_id in (select t.id from teams as t), true)'",
        f"{AUDITORS}: 'condition' has an 'in (select ...)' under something else than",
    ),
    "a condition is a list without end": (
        "condition: job_name is not null",
        f"condition: {'[' * 2000}{']' * 2000}",
        "policy 1: 'condition' holds lists and mappings more than 40 deep",
    ),
    "a condition has the clock as a text": (
        "condition: job_name is not null",
        "condition: date'today' > date'2026-01-31'",
        f"{AUDITORS}: 'condition' has 'today', which Spark reads as the clock where it",
    ),
    "a condition works out what could be the clock": (
        "condition: job_name is not null",
        "condition: \"cast(concat('to', 'day') as date) > date'2026-01-31'\"",
        f"{AUDITORS}: 'condition' works out a text that could be read as the clock",
    ),
    "a condition calls what can fail": (
        "condition: job_name is not null",
        "condition: \"cast(parse_json(job_name) as string) <> 'x'\"",
        f"{AUDITORS}: 'condition' has 'parse_json', which fails on some values, and an",
    ),
    "a condition has a pattern that is no constant": (
        "condition: job_name is not null",
        "condition: job_name rlike job_name",
        f"{AUDITORS}: 'condition' has 'rlike' with a pattern on which it can fail",
    ),
    "a condition calls a function that is not known": (
        "condition: job_name is not null",
        "condition: is_good(job_name)",
        f"{AUDITORS}: 'condition' has 'is_good', which is no known function of Spark",
    ),
    "a condition asks the session": (
        "condition: job_name is not null",
        "condition: job_name = current_user()",
        f"{AUDITORS}: 'condition' has 'current_user', which depends on the session",
    ),
    "a condition takes rows by chance": (
        "condition: job_name is not null",
        "condition: job_name in (select t.id from teams as t limit 1)",
        f"{AUDITORS}: 'condition' has a 'limit' without 'order by', which takes rows",
    ),
    "a condition counts rows as they come": (
        "condition: job_name is not null",
        "condition: 'job_name in (select q.id from (select t.id, count(*)"
        " over (rows 5 preceding) as n from teams as t) as q where q.n < 3)'",
        f"{AUDITORS}: 'condition' has a window of rows without 'order by', which",
    ),
    "a condition calls a function with a type that it does not take": (
        "condition: job_name is not null",
        "condition: 'ascii(array(1)) = 1'",
        f"{AUDITORS}: 'condition' has 'ascii' of the type array<int>, and Spark",
    ),
    "a condition calls a function with too many arguments": (
        "condition: job_name is not null",
        "condition: 'luhn_check(job_name, 1)'",
        f"{AUDITORS}: 'condition' has 'luhn_check' with 2 arguments, and Spark takes 1",
    ),
    "a condition asks for a unit that Spark lacks": (
        "condition: job_name is not null",
        "condition: \"datediff('day', job_name, job_name) > 30\"",
        f"{AUDITORS}: 'condition' has 'datediff' with a unit that Spark has not: write",
    ),
    "a subquery has more columns than are compared": (
        "condition: job_name is not null",
        "condition: 'job_name in (select t.id, t.name from teams as t)'",
        f"{AUDITORS}: 'condition' has a subquery of 2 columns where Spark wants 1",
    ),
    "a condition compares a time between two days with a number": (
        "condition: job_name is not null",
        "condition: date'2026-02-01' - date'2026-01-01' > 30",
        f"{AUDITORS}: 'condition' has '>' of interval and int, which Spark does not"
        " take together",
    ),
    "a condition is written for another engine": (
        "condition: job_name is not null",
        "condition: job_name at time zone 'UTC' is not null",
        f"{AUDITORS}: 'condition' has 'at time zone', which Spark has not: write",
    ),
    "a condition reads a table as it was": (
        "condition: job_name is not null",
        "condition: exists (select 1 from t version as of 1)",
        f"{AUDITORS}: 'condition' reads a table as it was once, which depends on more",
    ),
    "a condition stands beside its own opposite": (
        "condition: job_name is not null",
        "condition: job_name in (select t.id from t) or job_name not in"
        " (select t.id from t)",
        f"{AUDITORS}: 'condition' has an 'in (select ...)' beside its own opposite",
    ),
    "a condition is read in more than one order": (
        "condition: job_name is not null",
        "condition: job_name = job_id in (1)",
        f"{AUDITORS}: 'condition' has operators side by side that are read in more",
    ),
    "a subquery's condition stands in brackets alone": (
        "condition: job_name is not null",
        "condition: exists (select 1 from t where (is_open))",
        f"{AUDITORS}: 'condition' has 'where (...)' behind a relation, and Spark takes",
    ),
    "a condition casts to a length": (
        "condition: job_name is not null",
        "condition: cast(job_name as varchar(3)) = 'abc'",
        f"{AUDITORS}: 'condition' casts to varchar(3), which cuts and fills nothing in",
    ),
    "a condition is a chain without end": (
        "condition: job_name is not null",
        f"condition: {' and '.join(['job_id = 1'] * 10_000)}",
        f"{AUDITORS}: 'condition' nests or chains more than 300 operators",
    ),
    "a condition names what the tier carries": (
        "condition: job_name is not null",
        "condition: kind = 'User'",
        f"{AUDITORS}: 'condition' names 'kind', which the tier carries and the",
    ),
    "a check has a correlated subquery": (
        "condition: job_name is not null",
        "condition: exists (select 1 from teams as t where t.id = jobs.team_id)",
        f"{AUDITORS}: 'condition' has a correlated subquery",
    ),
    "a check is neither true nor false": (
        "check: false",
        "check: never",
        "policy 2, role 'Editors' on 'jobs': 'check' must be true or false",
    ),
    "a role has two conditions on a dataset": (
        "role: Editors, resource: jobs",
        "role: Auditors, resource: jobs",
        "policy 2, role 'Auditors' on 'jobs': the role has a condition on the dataset",
    ),
    "a dataset is masked": (
        "check: false",
        "mask: 0",
        "policy 2, role 'Editors' on 'jobs': 'mask' belongs to a column",
    ),
    "a mask is missing": (
        "mask: 0, ",
        "",
        f"{MASKED}: the key 'mask' is missing",
    ),
    "a mask has no value": (
        "mask: 0,",
        "mask: ,",
        f"{MASKED}: 'mask' must be an SQL expression",
    ),
    "a mask is a text without quotes of its own": (
        "mask: upper(run_name)",
        "mask: hidden",
        "'hidden', which the dataset has not; a text has quotes of its own",
    ),
    "a mask leaves its brackets": (
        "mask: 0,",
        "mask: 'a) or (b',",
        f"{MASKED}: the brackets of 'mask' don't match",
    ),
    "a mask shows the value of another masked column": (
        "resource: runs.run_name, mask: 0",
        "resource: runs.test_id, mask: length(run_name)",
        "policy 3, role 'Auditors' on 'runs.test_id': 'mask' names 'run_name', which"
        " has a mask too",
    ),
    "a mask reads the dataset's base": (
        "mask: 0,",
        "mask: (select max(a.run_name) from all_runs as a),",
        f"{MASKED}: 'mask' reads 'all_runs', the dataset's base",
    ),
    "a mask has a check": (
        "mask: 0,",
        "mask: 0, check: false,",
        f"{MASKED}: 'check' belongs to a condition on a dataset",
    ),
    "a mask is on the unique key": (
        "resource: runs.run_name, mask: 0",
        "resource: runs.run_id, mask: 0",
        "'run_id' is in the dataset's 'unique_key'",
    ),
    "a mask's order is no number": (
        "mask_order: 1",
        "mask_order: first",
        f"{MASKED}: 'mask_order' must be a whole number",
    ),
    "a mask's order is true": (
        "mask_order: 1",
        "mask_order: true",
        f"{MASKED}: 'mask_order' must be a whole number",
    ),
    "a mask is to do something else on null": (
        "mask_order: 1",
        "mask_on_null: hide",
        f"{MASKED}: 'mask_on_null' must be mask or pass",
    ),
    "a mask is for a role and for all but some": (
        "- {role: Auditors, resource: runs",
        "- {role: Auditors, except: [Editors], resource: runs",
        "policy 3: has 'role' and 'except', and one of them says whom it is for",
    ),
    "a mask spares everybody": (
        "- {role: Auditors, resource: runs",
        "- {except: ['*'], resource: runs",
        "policy 3: 'except' spares '*', everybody, and so it would be for nobody",
    ),
    "a mask spares nobody": (
        "- {role: Auditors, resource: runs",
        "- {except: [], resource: runs",
        "policy 3: 'except' must be a list of roles, and not empty",
    ),
    "a mask spares a text": (
        "- {role: Auditors, resource: runs",
        "- {except: Auditors, resource: runs",
        "policy 3: 'except' must be a list of roles, and not empty",
    ),
    "a mask's exception has no value": (
        "- {role: Auditors, resource: runs",
        "- {except: , resource: runs",
        "policy 3: 'except' must be a list of roles, and not empty",
    ),
    "a mask spares what is true in YAML": (
        "- {role: Auditors, resource: runs",
        "- {except: [Auditors, yes], resource: runs",
        "policy 3: 'except' has 'True', which is neither a role's name nor a group's",
    ),
    "a role is a group without its id": (
        "- {role: Auditors, resource: runs",
        "- {role: {group: Auditors}, resource: runs",
        "policy 3: 'role' must be a role's name, or a group's id: {group: 17}",
    ),
    "a role is another mapping": (
        "- {role: Auditors, resource: runs",
        "- {role: {group: 17, name: Auditors}, resource: runs",
        "policy 3: 'role' must be a role's name, or a group's id: {group: 17}",
    ),
    "a mask spares a group twice": (
        "- {role: Auditors, resource: runs",
        "- {except: [{group: 17}, {group: 17}], resource: runs",
        "policy 3: 'except' names a role twice",
    ),
    "a mask spares a group without its id": (
        "- {role: Auditors, resource: runs",
        "- {except: [{group: true}], resource: runs",
        "policy 3: 'except' has '{'group': True}', which is neither a role's name nor",
    ),
    "two conditions are for one group": (
        "- {role: Auditors, resource: runs.run_name, mask: 0, mask_order: 1}",
        "\n    ".join(["- {role: {group: 17}, resource: jobs}"] * 2),
        "policy 4, role 'group 17' on 'jobs': the role has a condition on the dataset",
    ),
    "a mask spares a role twice": (
        "- {role: Auditors, resource: runs",
        "- {except: [Auditors, 'Auditors '], resource: runs",
        "policy 3: 'except' names a role twice",
    ),
    "a condition is for all but some": (
        "- {role: Editors, resource: jobs",
        "- {except: [Editors], resource: jobs",
        "policy 2, all but 'Editors' on 'jobs': 'except' belongs to a mask",
    ),
    "a condition is neither permissive nor restrictive": (
        "- {role: Editors, resource: jobs",
        "- {role: Editors, as: strict, resource: jobs",
        "policy 2, role 'Editors' on 'jobs': 'as' must be permissive or restrictive",
    ),
    "a restrictive policy has no condition": (
        "- {role: Editors, resource: jobs",
        "- {role: Editors, as: restrictive, resource: jobs",
        "policy 2, role 'Editors' on 'jobs': the key 'condition' is missing: a",
    ),
    "a policy ends on no day": (
        "- {role: Editors, resource: jobs",
        "- {role: Editors, valid_until: soon, resource: jobs",
        "policy 2, role 'Editors' on 'jobs': 'valid_until' must be a day or a moment",
    ),
    "a policy begins in another zone": (
        "- {role: Editors, resource: jobs",
        "- {role: Editors, valid_from: 2026-05-01T10:00:00+02:00, resource: jobs",
        "policy 2, role 'Editors' on 'jobs': 'valid_from' must be a day or a moment",
    ),
    "a policy ends before it begins": (
        "- {role: Editors, resource: jobs",
        "- {role: Editors, valid_from: 2026-05-02, valid_until: 2026-05-01, resource:"
        " jobs",
        "policy 2, role 'Editors' on 'jobs': 'valid_until' does not come after",
    ),
    "two conditions of one role hold on one day": (
        "- {role: Editors, resource: jobs, check: false}",
        "- {role: Editors, resource: jobs, valid_until: 2026-05-01}\n"
        "    - {role: Editors, resource: jobs, valid_from: 2026-05-01}",
        "policy 3, role 'Editors' on 'jobs': the role has a condition on the dataset",
    ),
    "the reader's relation has no key": (
        "\npolicies:\n",
        "\nreader: {relation: all_jobs}\n\npolicies:\n",
        "the reader: the key 'key' is missing",
    ),
    "the reader is a text": (
        "\npolicies:\n",
        "\nreader: all_jobs\n\npolicies:\n",
        "the reader: must be a mapping of keys to values",
    ),
    "a condition names an attribute, and there is no reader": (
        "condition: job_name is not null}",
        "condition: job_name = reader.name}",
        "policy 1, role 'Auditors' on 'jobs': 'condition' names 'reader.name', which"
        " the dataset has not; 'reader' is named once in the config",
    ),
    "a mask is restrictive": (
        "- {role: Auditors, resource: runs",
        "- {role: Auditors, as: restrictive, resource: runs",
        f"{MASKED}: 'as' belongs to a condition on a dataset, not to a mask",
    ),
    "a condition is shown to some": (
        "- {role: Editors, resource: jobs, check: false",
        "- {shown_to: [{role: R}], resource: jobs, as: restrictive, condition: true",
        "policy 2, shown_to on 'jobs': 'shown_to' belongs to a column: the resource",
    ),
    "a mask is for a role and shown to some": (
        "- {role: Auditors, resource: runs",
        "- {role: Auditors, shown_to: [{role: Editors}], resource: runs",
        "policy 3: has 'role' and 'shown_to', and one of them says whom it is for",
    ),
    "a policy is for a list of roles": (
        "- {role: Auditors, resource: runs",
        "- {role: [Auditors, Editors], resource: runs",
        "policy 3: 'role' must be one role: write an entry for each",
    ),
    "a mask is shown to nobody": (
        "- {role: Auditors, resource: runs",
        "- {shown_to: [], resource: runs",
        "policy 3: 'shown_to' must be a list of {role: ..., where: ...}, and not empty",
    ),
    "a mask is shown to a line without a role": (
        "- {role: Auditors, resource: runs",
        "- {shown_to: [{where: run_id = 1}], resource: runs",
        "policy 3: the key 'role' is missing",
    ),
    "a mask is shown to a line of another key": (
        "- {role: Auditors, resource: runs",
        "- {shown_to: [{role: Editors, condition: run_id = 1}], resource: runs",
        "policy 3: unknown key 'condition'; known are role, where",
    ),
    "a mask is shown to some until a day": (
        "- {role: Auditors, resource: runs",
        "- {shown_to: [{role: Editors, valid_until: 2026-05-01}], resource: runs",
        "policy 3: 'valid_until' must stand beside 'shown_to', for the whole mask",
    ),
    "a mask is shown to some by a column that is not there": (
        "- {role: Auditors, resource: runs",
        "- {shown_to: [{role: Editors, where: unit = 1}], resource: runs",
        "policy 3, shown_to on 'runs.run_name': 'where' names 'unit', which the",
    ),
    "a mask is shown to some by the clock": (
        "- {role: Auditors, resource: runs",
        "- {shown_to: [{role: R, where: current_date() > run_name}], resource: runs",
        "policy 3, shown_to on 'runs.run_name': 'where'",
    ),
    "a mask is shown to some and has a condition": (
        "- {role: Auditors, resource: runs",
        "- {shown_to: [{role: Editors}], condition: run_id = 1, resource: runs",
        "policy 3, shown_to on 'runs.run_name': 'condition' must not stand beside",
    ),
    "two masks on a column have the same order": (
        "mask_order: 2",
        "mask_order: 1",
        "policy 4, role 'Editors' on 'runs.run_name': the column has a mask with the"
        " 'mask_order' 1 already",
    ),
    "a mask is on a tag that no column has": (
        "- {role: Editors, resource: jobs, check: false}",
        '- {except: [Editors], resource: {tag: persons}, mask: "null"}',
        "policy 2, all but 'Editors' on the tag 'persons': no column has the tag"
        " 'persons'; known are",
    ),
    "a mask is on a tag of a key": (
        "- {role: Editors, resource: jobs, check: false}",
        '- {except: [Editors], resource: {tag: key}, mask: "null"}',
        "policy 2, all but 'Editors' on the tag 'key': the column 'run_id' of the"
        " dataset 'runs' has the tag 'key', and is in its 'unique_key'",
    ),
    "two masks by tag and by name have the same order": (
        "mask_order: 2}",
        'mask_order: 2}\n    - {role: R, resource: {tag: person}, mask: "null", '
        "mask_order: 2}",
        "policy 5, role 'R' on the tag 'person': of 'runs.run_name': the column has a"
        " mask with the 'mask_order' 2 already",
    ),
    "a mask by type is on a column": (
        "mask: 0, mask_order: 1",
        "mask: {string: '0'}, mask_order: 1",
        "policy 3, role 'Auditors' on 'runs.run_name': 'mask' has values by type, which"
        " belong to a tag",
    ),
    "a mask by type names no type": (
        "resource: runs.run_name, mask: 0",
        "resource: {tag: person}, mask: {strings: '0'}",
        "policy 3, role 'Auditors' on the tag 'person': 'mask' has a value for"
        " 'strings'",
    ),
    "a mask by type is on a column without a documented type": (
        "resource: runs.run_name, mask: 0",
        "resource: {tag: person}, mask: {string: '0'}",
        "the documentation of 'runs.run_name' says no data_type, by which its mask is",
    ),
    "a mask by type is an unquoted null": (
        "resource: runs.run_name, mask: 0",
        "resource: {tag: person}, mask: {default: null}",
        "'mask' must be an SQL expression, as a text: null between quotes",
    ),
    "a resource is a mapping without a tag": (
        "resource: runs.run_name, mask: 0",
        "resource: {tags: person}, mask: 0",
        "policy 3: 'resource' must be a text, or the tag of columns: {tag: pii}",
    ),
    # The star
    "the relations are a list": (
        STAR,
        "relations: []\n",
        "the config: 'relations' must map names to entries",
    ),
    "a relation is of no kind": (
        "kind: mapping",
        "kind: bridge",
        "relation 'town_staff': 'kind' must be fact, dimension or mapping",
    ),
    "a relation's columns have no types": (
        "columns: {staff_id: bigint, town_name: string}",
        "columns: [staff_id, town_name]",
        "relation 'town_staff': 'columns' must map names to types",
    ),
    "a relation's column has no type": (
        "{staff_id: bigint, town_name: string}",
        "{staff_id: bigint, town_name: }",
        "relation 'town_staff': the column 'town_name' has no type",
    ),
    "a relation's levels are not lists": (
        "levels: [[shop_id], [town], [country]]",
        "levels: [shop_id, town]",
        "relation 'shops': 'levels' must be a list of names",
    ),
    "a level has an unknown column": (
        "[country]]",
        "[land]]",
        "relation 'shops': 'levels' names 'land', which is not among its columns",
    ),
    "a column is at two levels": (
        "[country]]",
        "[town]]",
        "relation 'shops': 'levels' names a column twice",
    ),
    "the security objects are a mapping": (
        ROW_SECURITY,
        "row_security: {towns: town_staff}\n",
        "the config: 'row_security' must be a list of entries",
    ),
    "a security object is of another type (S1)": (
        "object_type: row_security",
        "object_type: column_security",
        "row_security 1: 'object_type' must be row_security, not 'column_security'",
    ),
    "a security object lacks its label (S2)": (
        "      label: Towns\n",
        "",
        "row_security 1: the key 'label' is missing",
    ),
    "a security object lacks its scope (S2)": (
        "      scope: fact\n",
        "",
        "row_security 1: the key 'scope' is missing",
    ),
    "a security object has an unknown key (S2)": (
        "label: Towns",
        "labels: Towns",
        "row_security 1: unknown key 'labels'",
    ),
    "a security object's label is a number (S2)": (
        "label: Towns",
        "label: 7",
        "row_security 1: 'label' must be a text",
    ),
    "a security object's description is a list (S2)": (
        "label: Towns",
        "label: Towns\n      description: [Towns]",
        "row_security 1: 'description' must be a text",
    ),
    "secure_totals is neither true nor false (S2)": (
        "secure_totals: false",
        "secure_totals: never",
        "row_security 1: 'secure_totals' must be true or false",
    ),
    "use_filter_key is neither true nor false (S2)": (
        "use_filter_key: true",
        "use_filter_key: 1",
        "row_security 1: 'use_filter_key' must be true or false",
    ),
    "a unique name is on two lines (S3)": (
        "unique_name: towns",
        'unique_name: "The\\ntowns"',
        "row_security 1: 'unique_name' must be a text on one line",
    ),
    "a unique name is there twice (S3)": (
        RELATIONSHIPS,
        ROW_SECURITY.removeprefix("row_security:\n") + RELATIONSHIPS,
        "row_security 2: the unique_name 'towns' is there already",
    ),
    "a unique name is that of a rendered step (S3)": (
        "unique_name: towns",
        "unique_name: tier_rows",
        "row_security 1: the unique_name 'tier_rows' is there already",
    ),
    "a security object's dataset is not there (S4)": (
        "dataset: town_staff",
        "dataset: staff",
        "row_security 1: unknown dataset 'staff': it must be a model or seed among",
    ),
    "a security object's key column is misspelt (S4)": (
        "filter_key_column: town_name",
        "filter_key_column: town",
        "row_security 1: 'filter_key_column' names 'town', which is not a column of",
    ),
    "a security object's ids are misspelt (S4)": (
        "ids_column: staff_id",
        "ids_column: user_id",
        "row_security 1: 'ids_column' names 'user_id', which is not a column of",
    ),
    "a security object's ids are texts (S4)": (
        "ids_column: staff_id",
        "ids_column: town_name",
        "row_security 1: 'ids_column' must be a bigint",
    ),
    "an id type is unknown (S5)": (
        "id_type: user",
        "id_type: role",
        "row_security 1: 'id_type' must be user or group, not 'role'",
    ),
    "a scope is unknown (S5)": (
        "scope: fact",
        "scope: some",
        "row_security 1: 'scope' must be related or fact or all, not 'some'",
    ),
    "a relationship leads to two things (S9)": (
        "to: {dataset: shops}",
        "to: {dataset: shops, row_security: towns}",
        "relationship 1, to: must have either 'dataset' or 'row_security'",
    ),
    "a relationship leads nowhere (S9)": (
        "to: {dataset: shops}",
        "to: {}",
        "relationship 1, to: must have either 'dataset' or 'row_security'",
    ),
    "a relationship lacks its columns (S9)": (
        "{dataset: sales, join_columns: [shop_id]}",
        "{dataset: sales}",
        "relationship 1, from: the key 'join_columns' is missing",
    ),
    "a relationship begins at an unknown dataset (S9)": (
        "{dataset: sales, join",
        "{dataset: sale, join",
        "relationship 1, from: unknown dataset 'sale'",
    ),
    "a relationship leads to an unknown dataset (S9)": (
        "to: {dataset: shops}",
        "to: {dataset: shop}",
        "relationship 1, to: unknown dataset 'shop'",
    ),
    "a relationship leads to an unknown object (S9)": (
        "to: {row_security: towns}",
        "to: {row_security: town}",
        "relationship 2, to: unknown row_security 'town'",
    ),
    "a relationship's column is misspelt (S9)": (
        "join_columns: [town]",
        "join_columns: [twon]",
        "relationship 2, from: 'join_columns' names 'twon'",
    ),
    "a relationship's column is not at its other end (S9)": (
        "join_columns: [shop_id]",
        "join_columns: [sale_id]",
        "relationship 1: 'join_columns' don't fit: 'shops' has no column 'sale_id' of",
    ),
    "a relationship's column is of another type (S9)": (
        "columns: {shop_id: bigint,",
        "columns: {shop_id: string,",
        "relationship 1: 'join_columns' don't fit: 'shops' has no column 'shop_id' of",
    ),
    "a key is of another type (S9)": (
        "join_columns: [town]",
        "join_columns: [shop_id]  ",
        "relationship 2: 'join_columns' don't fit: the filter key of 'towns' is one",
    ),
    "a key has two columns (S9)": (
        "join_columns: [town]",
        "join_columns: [town, country]",
        "relationship 2: 'join_columns' don't fit: the filter key of 'towns' is one",
    ),
    "no relationship leads to a security object (S9)": (
        "    - from: {dataset: shops, join_columns: [town]}\n"
        "      to: {row_security: towns}\n",
        "",
        "row_security 1: no relationship leads to 'towns', so that it would restrict",
    ),
    "a relationship leads from a dataset to itself (S9)": (
        "to: {dataset: shops}",
        "to: {dataset: sales}",
        "relationship 1: leads from 'sales' to itself",
    ),
    "a relationship leads from an object's keys to the object (S9)": (
        "- from: {dataset: shops, join_columns: [town]}",
        "- from: {dataset: town_staff, join_columns: [town_name]}",
        "relationship 2: leads from 'town_staff' to itself: it holds the keys of",
    ),
    "two equally short ways lead to one end (S9)": (
        "to: {dataset: shops}",
        "to: {dataset: shops}\n    - from: {dataset: sales, join_columns: [shop_id]}\n"
        "      to: {dataset: shops}",
        "relationship 2: two equally short ways lead from 'sales' to 'shops'",
    ),
    # Queries over the star
    "a query does not say who sees it": (
        "unique_key: [country]\n        visible_to: everyone\n",
        "unique_key: [country]\n",
        "dataset 'revenue': the key 'visible_to' is missing",
    ),
    "a query has a tier": (
        "unique_key: [country]\n",
        "unique_key: [country]\n        tier: team\n",
        "dataset 'revenue': unknown key 'tier'",
    ),
    "a query asks for nothing": (
        QUERY,
        "query: {fact: sales}\n",
        "dataset 'revenue': 'query' must map columns to 'dimensions' and 'measures'",
    ),
    "a query has other columns than its dataset": (
        "columns: [country, revenue]",
        "columns: [revenue, country]",
        "dataset 'revenue': 'columns' must be the dimensions of its query and then",
    ),
    "a query has another key than its dimensions": (
        "unique_key: [country]",
        "unique_key: [revenue]",
        "dataset 'revenue': 'unique_key' must be the dimensions of its query",
    ),
    "a dimension is misspelt": (
        "shops.country",
        "shops.land",
        "dataset 'revenue': the dimension 'country' must be <relation>.<column>",
    ),
    "a measure leaves its brackets": (
        "sum(sales.price)",
        "sum(sales.price",
        "dataset 'revenue': the brackets of 'query.measures.revenue' don't match",
    ),
    "the fact is a dimension": (
        QUERY,
        f"{QUERY}            fact: shops\n",
        "dataset 'revenue': 'query.fact' must name a relation of the kind fact",
    ),
    "no fact leads to a query's dimensions": (
        SALES_TO_SHOPS,
        "",
        "dataset 'revenue': 'query' needs one relation to which all others can be",
    ),
    "two facts lead to a query's dimensions": (
        STAR,
        STAR.replace(SALES, SALES + SALES.replace("sales", "gifts"))
        + SALES_TO_SHOPS.replace("sales", "gifts"),
        "and there are sales, gifts: name the one in 'fact'",
    ),
    "a dataset lacks the column that restricts it": (
        "columns: [shop_id, town]\n        unique_key: [shop_id]",
        "columns: [shop_id]\n        unique_key: [shop_id]",
        "dataset 'stores': row_security 'towns' restricts it by 'town', which must be",
    ),
}


def edited(document: str, old: str, new: str) -> str:
    """Make one edit."""
    assert document.count(old) == 1, f"{old!r} is there {document.count(old)} times"
    return document.replace(old, new)
