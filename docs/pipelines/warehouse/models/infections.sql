select pid, ward
from {{ source('hospital', 'diagnosis') }}
where diagnosis in ('flu', 'hepatitis')
