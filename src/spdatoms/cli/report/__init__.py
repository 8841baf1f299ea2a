"""Reports of commands: one page that needs no other file, to click through."""
