"""Lists come in pages with a count and links to the next and previous one."""

from rest_framework.exceptions import ValidationError
from rest_framework.pagination import PageNumberPagination


class Pages(PageNumberPagination):
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500

    def get_page_size(self, request) -> int:
        """What is no number is refused; a larger one than the largest means that."""
        asked = request.query_params.get(self.page_size_query_param)
        if asked is not None and not (asked.isdecimal() and int(asked[:10])):
            raise ValidationError({self.page_size_query_param: ["Write a number from 1."]})
        return super().get_page_size(request)

    def get_page_number(self, request, paginator) -> str:
        if request.query_params.get(self.page_query_param) == "":
            raise ValidationError({self.page_query_param: ["Write a number from 1."]})
        return super().get_page_number(request, paginator)
