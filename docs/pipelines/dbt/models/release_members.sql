-- What leaves: a file of its own, so that what is judged is what is published.
{{ config(materialized='external', location='target/members-release.csv', format='csv') }}

with members as (
    -- Every cell as a text: codes keep their leading zeros.
    select *, count(*) over (partition by race) as records
    from read_csv('{{ var("data") }}', all_varchar = true)
),

released as (
    select
        '*' as city,
        case when records >= {{ var("least_records") }} then race else '*' end as race,
        '*' as birth_date,
        case when records >= {{ var("least_records") }} then income else '*' end as income
    from members
)

-- In an order that says nothing of the records'.
select * from released order by race, income
