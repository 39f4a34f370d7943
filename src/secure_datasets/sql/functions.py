"""Spark's functions by what a rule may do with them: each stands in one list.

The tests compare the lists with the engine's own functions. They also run the functions
that rules may call on values at the edges of their types. The leak detector judges a
query by the first three lists.
"""

from __future__ import annotations


def names(text: str) -> frozenset[str]:
    """Return the names that a text lists."""
    return frozenset(text.split())


# Aggregates: one value for many rows.
AGGREGATES = names(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k
    approx_top_k_accumulate approx_top_k_combine array_agg avg bit_and bit_or bit_xor
    bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list
    collect_set collect_union corr count count_if count_min_sketch covar_pop covar_samp
    every first first_value grouping grouping_id histogram_numeric hll_sketch_agg
    hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last
    last_value listagg max max_by mean measure median min min_by mode percentile
    percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg
    skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum
    tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop
    var_samp variance vector_avg vector_sum
    """
)

# A value for each row within a window.
WINDOW_FUNCTIONS = names(
    """
    counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank
    row_number
    """
)

# Several rows from one row.
GENERATORS = names(
    """
    explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer
    stack variant_explode variant_explode_outer
    """
)

# Functions that depend on chance, on the partition, or on the machine.
CHANCE = names(
    """
    input_file_block_length input_file_block_start input_file_name
    monotonically_increasing_id rand randn random randstr shuffle spark_partition_id
    uniform uuid
    """
)

# Functions that depend on chance or run Java code, and fail on some values.
FOREIGN = names("aes_encrypt java_method reflect try_reflect")

# Functions that depend on the time.
CLOCK = names(
    """
    curdate current_date current_datetime current_time current_timestamp curtime
    localtime localtimestamp now
    """
)

# Functions that depend on the reader, the session, and the engine.
SESSION = names(
    """
    current_catalog current_database current_path current_schema current_timezone
    current_user session_user user version
    """
)

# Aggregates that take the first value, or any of several equal ones.
OF_ORDER = names(
    """
    any_value approx_percentile approx_top_k array_agg collect_list collect_set
    collect_union first first_value histogram_numeric last last_value listagg max_by
    min_by mode nth_value percentile_approx string_agg
    """
)

# Window functions that distinguish rows with the same order.
OF_ORDER_IN_WINDOWS = names("lag lead ntile")

# Aggregates that can't fail, and that give the same value for any order of the rows.
PLAIN_AGGREGATES = names(
    """
    any approx_count_distinct avg bit_and bit_or bit_xor bool_and bool_or corr count
    count_if covar_pop covar_samp every grouping grouping_id kurtosis max mean
    median min percentile percentile_cont percentile_disc regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness
    some std stddev stddev_pop stddev_samp sum try_avg try_sum var_pop var_samp
    variance
    """
)

# Functions that do not give one row for each row: the generators and more.
OF_OTHER_ROWS = GENERATORS | names(
    """
    collations python_worker_logs range session_window sql_keywords window window_time
    """
)

# Functions that can fail on a value, with and without Spark's ANSI mode, so that the
# error reveals the value: each with its replacement, if there is one.
RAISES: dict[str, str] = {
    "aes_decrypt": "try_aes_decrypt",
    "array_insert": "concat(slice(x, ...), ...)",
    "assert_true": "",
    "bit_get": "shiftright(x, n) & 1",
    "from_base32": "",
    "getbit": "shiftright(x, n) & 1",
    "map_concat": "",
    "map_from_arrays": "map with constant keys",
    "map_from_entries": "map with constant keys",
    "make_dt_interval": "interval with a constant",
    "make_interval": "interval with a constant",
    "make_time": "make_timestamp",
    "make_ym_interval": "interval with a constant",
    "parse_json": "try_parse_json",
    "parse_url": "try_parse_url",
    "raise_error": "null",
    "sequence": "",
    "str_to_map": "split with a constant pattern",
    "time": "timestamp",
    "timestamp_millis": "timestamp_micros(try_multiply(x, 1000))",
    "timestamp_seconds": "timestamp_micros(try_multiply(x, 1000000))",
    "to_binary": "try_to_binary",
    "to_number": "try_to_number",
    "to_time": "to_timestamp",
    "transform_keys": "map with constant keys",
    "try_make_interval": "interval with a constant",
    "try_to_time": "to_timestamp",
    "unbase64": "try_to_binary(x, 'base64')",
    "url_decode": "try_url_decode",
    "validate_utf8": "try_validate_utf8",
    "variant_get": "try_variant_get",
    "when": "case when",
}

# Functions that no rule needs, and that can fail or have a different purpose: sketches,
# formats of messages, XML, shapes on a map, vectors, times of day, changes of variants.
UNFIT = names(
    """
    approx_top_k_estimate bitmap_bit_position bitmap_bucket_number bitmap_count
    collate collation format_string from_avro from_csv from_protobuf from_xml
    hll_sketch_estimate hll_union hmac is_valid_variant kll_sketch_get_n_bigint
    kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_get_quantile_bigint
    kll_sketch_get_quantile_double kll_sketch_get_quantile_float
    kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float
    kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
    kll_sketch_to_string_bigint kll_sketch_to_string_double
    kll_sketch_to_string_float printf schema_of_avro schema_of_csv schema_of_json
    schema_of_variant schema_of_xml sentences st_asbinary st_geogfromwkb
    st_geomfromwkb st_setsrid st_srid theta_difference theta_intersection
    theta_sketch_estimate theta_union time_bucket time_diff time_from_micros
    time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds
    time_trunc timestamp_nanos to_avro to_char to_csv to_protobuf to_varchar
    to_variant_object to_xml try_aes_decrypt try_variant_array_append
    try_variant_insert try_variant_set tuple_difference_double
    tuple_difference_integer tuple_difference_theta_double
    tuple_difference_theta_integer tuple_intersection_double
    tuple_intersection_integer tuple_intersection_theta_double
    tuple_intersection_theta_integer tuple_sketch_estimate_double
    tuple_sketch_estimate_integer tuple_sketch_summary_double
    tuple_sketch_summary_integer tuple_sketch_theta_double
    tuple_sketch_theta_integer tuple_union_double tuple_union_integer
    tuple_union_theta_double tuple_union_theta_integer unix_nanos
    variant_array_append variant_delete variant_insert variant_set
    variant_strip_nulls vector_cosine_similarity vector_inner_product
    vector_l2_distance vector_norm vector_normalize xpath xpath_boolean xpath_double
    xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string
    """
)

# Functions that can't fail if some arguments are constants of a kind: each with the
# places of these arguments, from 0. A missing argument counts as a constant.
# `function_calls` checks them.
CONSTANTS: dict[str, dict[int, str]] = {
    "add_months": {1: "a number of months"},
    "array_repeat": {1: "a count"},
    "bround": {1: "a number of places"},
    "ceil": {1: "a number of places"},
    "ceiling": {1: "a number of places"},
    "convert_timezone": {0: "a time zone", 1: "a time zone"},
    "date_part": {0: "a unit"},
    "datepart": {0: "a unit"},
    "date_format": {1: "a format with SSS for parts of a second"},
    # The parser makes a name of the unit, whatever it is.
    "date_trunc": {0: "a text"},
    "encode": {1: "a charset"},
    "floor": {1: "a number of places"},
    "format_number": {1: "a number of digits"},
    "from_json": {1: "a schema without dates and times", 2: "nothing"},
    "from_unixtime": {1: "a format"},
    "from_utc_timestamp": {1: "a time zone"},
    # With a different path, Spark before version 4 fails.
    "get_json_object": {1: "a path"},
    "lpad": {1: "a count"},
    "make_date": {0: "a year"},
    "make_timestamp": {0: "a year", 6: "a time zone"},
    "make_timestamp_ltz": {0: "a year", 6: "a time zone"},
    "make_timestamp_ntz": {0: "a year"},
    "mask": dict.fromkeys(range(1, 5), "one letter or null"),
    "regexp_count": {1: "a regular expression"},
    # Spark makes a pattern from the key.
    "try_parse_url": {2: "letters and digits"},
    "regexp_extract": {1: "a regular expression", 2: "a group of it"},
    "regexp_extract_all": {1: "a regular expression", 2: "a group of it"},
    "regexp_instr": {1: "a regular expression", 2: "a group of it"},
    "regexp_like": {1: "a regular expression"},
    "regexp_replace": {
        1: "a regular expression", 2: "a text without \\ or a $ that is no group of it",
        3: "a place",
    },
    "regexp_substr": {1: "a regular expression"},
    "repeat": {1: "a count"},
    "round": {1: "a number of places"},
    "rpad": {1: "a count"},
    "slice": {1: "a place", 2: "a count"},
    "sort_array": {1: "true or false"},
    "space": {0: "a count"},
    "split": {1: "a regular expression"},
    "split_part": {2: "a place"},
    "to_date": {1: "a format"},
    "to_json": {1: "nothing"},
    "to_timestamp": {1: "a format"},
    "to_timestamp_ltz": {1: "a format"},
    "to_timestamp_ntz": {1: "a format"},
    "to_unix_timestamp": {1: "a format"},
    "to_utc_timestamp": {1: "a time zone"},
    "trunc": {1: "a text"},
    "try_element_at": {1: "a place"},
    "element_at": {1: "a place"},
    "try_make_timestamp": {0: "a year", 6: "a time zone"},
    "try_make_timestamp_ltz": {0: "a year", 6: "a time zone"},
    "try_make_timestamp_ntz": {0: "a year"},
    "try_to_binary": {1: "a format of binary values"},
    "try_to_date": {1: "a format"},
    "try_to_number": {1: "a format of numbers"},
    "try_to_timestamp": {1: "a format"},
    "try_variant_get": {1: "a path", 2: "a type"},
    "unix_timestamp": {1: "a format"},
}  # fmt: skip

# Functions that read texts by a format.
PARSING = names(
    """
    to_date to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp try_to_date
    try_to_timestamp unix_timestamp
    """
)

# Functions that can't fail on any value, and are deterministic for a row.
PLAIN = names(
    """
    abs acos acosh aggregate array array_append array_compact array_contains
    array_distinct array_except array_intersect array_join array_max array_min
    array_position array_prepend array_remove array_size array_sort array_union
    arrays_overlap arrays_zip ascii asin asinh atan atan2 atanh base64 between
    bigint bin binary bit_count bit_length boolean btrim cardinality case cast cbrt
    char char_length character_length chr coalesce concat concat_ws contains conv
    cos cosh cot crc32 csc date date_add date_diff date_from_unix_date date_sub
    dateadd datediff day dayname dayofmonth dayofweek dayofyear decimal
    decode degrees div double e elt endswith equal_null exists exp expm1 extract
    factorial filter find_in_set flatten float forall get greatest hash hex hour
    hypot if ifnull ilike in initcap instr int is_valid_utf8 is_variant_null isnan
    isnotnull isnull jaro_winkler_similarity json_array_length json_object_keys
    last_day lcase least left len length levenshtein like ln locate log log10 log1p
    log2 lower ltrim luhn_check make_valid_utf8 map
    map_contains_key map_entries map_filter map_keys map_values map_zip_with md5
    minute mod month monthname months_between named_struct nanvl negative next_day
    not nullif nullifzero nvl nvl2 octet_length or and overlay pi pmod position
    positive pow power quarter quote radians reduce regexp replace reverse right
    rint rlike rtrim sec second sha sha1 sha2 shiftleft shiftright
    shiftrightunsigned sign signum sin sinh size smallint soundex sqrt startswith
    string struct substr substring substring_index tan tanh timestamp
    timestamp_micros tinyint to_base32 transform transform_values translate trim
    try_add try_divide try_mod try_multiply
    try_parse_json try_subtract try_url_decode try_validate_utf8 typeof ucase unhex
    unix_date unix_micros unix_millis unix_seconds upper url_encode weekday
    weekofyear width_bucket xxhash64 year zeroifnull zip_with
    """
)
