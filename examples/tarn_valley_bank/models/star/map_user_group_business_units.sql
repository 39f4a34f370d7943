select
    user_group_id,
    business_unit
from {{ ref('user_group_business_units') }}
