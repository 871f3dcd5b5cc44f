"""The sections of the page, a file each: what each question's answer shows, as plain facts for a template."""
