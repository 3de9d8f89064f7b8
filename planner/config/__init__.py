"""The site file: read, checked as a whole, resolved to physics."""

from planner.config.faults import Fault, SiteFaults
from planner.config.load import load_site, site_from_text
from planner.config.site import Site, SiteBlock

__all__ = ["Fault", "Site", "SiteBlock", "SiteFaults", "load_site", "site_from_text"]
