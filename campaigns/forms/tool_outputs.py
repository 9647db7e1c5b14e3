"""The output of a tool, pasted or as a file."""

from django import forms

from campaigns.domain.units import size
from campaigns.models import ToolOutput
from campaigns.services.runs import MOST_BYTES


class OutputForm(forms.Form):
    tool = forms.CharField(
        label="Tool",
        required=False,
        max_length=ToolOutput.MOST_TOOL,
        widget=forms.TextInput(attrs={"placeholder": "vmstat", "autocomplete": "off"}),
    )
    text = forms.CharField(
        label="Output",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "class": "mono"}),
        help_text=f"At most {size(MOST_BYTES)}; kept as it is.",
    )
    file = forms.FileField(label="or a file", required=False)

    def clean(self) -> dict:
        data = super().clean()
        upload = data.get("file")
        if upload:
            data["text"] = self._read(upload)
        else:
            # Browsers send the lines of a text field with both characters.
            data["text"] = data.get("text", "").replace("\r\n", "\n")
        return data

    def _read(self, upload) -> str:
        if upload.size > MOST_BYTES:
            limit, found = size(MOST_BYTES), size(upload.size, MOST_BYTES)
            self.add_error("file", f"This file has {found}. Choose one of at most {limit}.")
            return ""
        try:
            return upload.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            self.add_error("file", "This is not UTF-8 text. Upload what the tool printed.")
            return ""
