"""Query views: whether what is published could tell anything about what is to stay secret."""
