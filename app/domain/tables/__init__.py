"""Tables as codes and domains, their distinct records and the numbers in them."""
