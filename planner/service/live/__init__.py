"""The live page: what is planned and what telemetry reports of it, for those who run the site."""
