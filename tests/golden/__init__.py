"""The yardstick of a redesign: what the package answers today, setting by setting, compared after every step."""
