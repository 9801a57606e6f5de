# XML, HTML, INI, TOML, mail and URLs are parsed and written.
import configparser
import email
import html
import html.parser
import io
import tomllib
import urllib.parse
import xml.dom.minidom
import xml.etree.ElementTree as ET

root = ET.fromstring('<a x="1"><b>té</b><b/>tail</a>')
print([b.text for b in root.iter("b")], ET.tostring(root, "unicode"), ET.tostring(root))
try:
    ET.fromstring("<a><b></a>")
except ET.ParseError as e:
    print(e)
print(xml.dom.minidom.parseString("<a><b>1</b></a>").toprettyxml(indent=" "))


class P(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs): print("tag", tag, attrs)
    def handle_data(self, data): print("data", repr(data))


P().feed("<p class=x>one &amp; two<br></p>")
print(html.escape("<&\">"), html.unescape("&eacute;&#x263a;"))
c = configparser.ConfigParser()
c.read_string("[a]\nx = 1\ny = %(x)s2\n")
c.write(out := io.StringIO())
print(c["a"]["y"], out.getvalue(), tomllib.loads('d = 2024-01-01\n[t]\nx=[1,2]'))
print(urllib.parse.urlsplit("http://u:p@h:80/p?q=é#f"), urllib.parse.quote("é /"), urllib.parse.parse_qs("a=1&a=2"))
m = email.message_from_string("Subject: =?utf-8?q?caf=C3=A9?=\nTo: a@b\n\nbody\n")
print(m["subject"], m.get_payload())
