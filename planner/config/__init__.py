"""The site file: read, checked as a whole, resolved to physics."""

from planner.config.faults import Fault, SiteFaults
from planner.config.load import load_site, site_from_text
from planner.config.schema import schema_text, site_schema
from planner.config.site import Site, SiteBlock
from planner.config.starter import starter_files, starter_site, zone_site

__all__ = [
    "Fault",
    "Site",
    "SiteBlock",
    "SiteFaults",
    "load_site",
    "schema_text",
    "site_from_text",
    "site_schema",
    "starter_files",
    "starter_site",
    "zone_site",
]
