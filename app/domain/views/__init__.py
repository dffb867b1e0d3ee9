"""Perfect privacy of query views: whether a published view could tell anything about a secret query."""
