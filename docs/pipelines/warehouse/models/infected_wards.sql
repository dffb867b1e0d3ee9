with infections as (
    select * from {{ ref('infections') }}
)
select ward, count(*) as infected
from infections
group by ward
