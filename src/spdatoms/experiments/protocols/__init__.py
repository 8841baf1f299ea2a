"""The protocols of the paper, one file per table or figure."""
