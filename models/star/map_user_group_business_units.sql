{{ secure_datasets.sample_mapping('user_group_business_units', {
    'user_group_id': 'bigint', 'business_unit': 'string',
}) }}
