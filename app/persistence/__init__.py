"""Everything that knows SQL: tables, repositories, the unit of work, keys, the embedded Postgres."""
