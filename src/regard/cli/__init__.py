"""The command line: one file a command, none of which imports torch before it must."""
