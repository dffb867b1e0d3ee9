-- every ward that has a patient
select distinct ward
from {{ source('hospital', 'diagnosis') }}
