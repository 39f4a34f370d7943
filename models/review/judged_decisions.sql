{{ adapter.query_of_review('judged_decisions', secure_datasets, ref, {'review_deciders': var('review_deciders')}) }}
