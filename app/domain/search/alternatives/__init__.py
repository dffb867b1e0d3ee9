"""Several rules of little loss side by side: which are searched for, and what each of them shows."""
