"""What a report holds, read from its file."""

import json
import re


def read_content(path):
    page = path.read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    return json.loads(data)
