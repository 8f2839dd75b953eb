"""Every statement that the database is asked, one module a subject."""
