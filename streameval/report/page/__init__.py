"""The report as a page: one file of HTML that needs nothing else."""

from streameval.report.page.page import HasColumns, html_page

__all__ = ["HasColumns", "html_page"]
