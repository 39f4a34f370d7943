{#
    The user of the reader's account; null if the account is mapped to no user or to several.

    accounts    the relation that maps accounts to user ids
    live_users  the users, if the result for a user who is not live must be null
    account     SQL for the reader's account; without it, the account of Spark's session
#}
{% macro user_of_the_account(accounts, live_users, account=none) -%}
(
    select max({{ 'users' if live_users else 'accounts' }}.user_id)
    from {{ accounts }} as accounts
{%- if live_users %}
    left join {{ live_users | string | indent }} as users
        on accounts.user_id = users.user_id and users.is_live
{%- endif %}
    {%- if account %}
    where accounts.account = {{ account }}
    {%- else %}
    where
        accounts.account = current_user()
        -- Another number in each query: what one account caches is taken for no other's.
        and rand() >= 0
    {%- endif %}
    having min(accounts.user_id) = max(accounts.user_id)
)
{%- endmacro %}
