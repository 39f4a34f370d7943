"""The one place of the version; dbt_project.yml must name the same."""

version = "0.2.0"
