# SPDX-License-Identifier: Apache-2.0
"""One small real task with each library of the stock environment data, as a job.

Each function is a library. A failure is printed with its traceback, and the exit
code is then 1.
"""
import importlib
import io
import pkgutil
import subprocess
import sys
import traceback
import warnings

# No module of Python's, and one for a library that the environment has not.
APART = ("scipy.special.libsf_error_state",
         "pandas.core.arrays.arrow.extension_types")
FRAME = {"n": [1, 2, 3], "s": ["x", "y", "x"]}
tried = []


def library(function):
    tried.append(function)
    return function


@library
def numpy():
    import numpy as np
    import numpy.testing
    numpy.testing.assert_allclose(np.linalg.inv(np.eye(3) * 2), np.eye(3) / 2)
    assert np.fft.fft([1, 2, 3])[0] == 6
    np.random.default_rng(1).normal(size=3)


@library
def pandas():
    import pandas as pd
    frame = pd.DataFrame(FRAME)
    frame.to_csv("frame.csv", index=False)
    assert pd.read_csv("frame.csv").equals(frame)
    assert frame.groupby("s").n.sum()["x"] == 4
    assert pd.read_json(io.StringIO(frame.to_json())).equals(frame)
    assert pd.read_html(io.StringIO(frame.to_html()))[0].shape == (3, 3)
    assert pd.read_xml(io.StringIO(frame.to_xml())).shape == (3, 3)
    assert frame.to_markdown().startswith("|") and frame.to_latex()


@library
def excel():
    import openpyxl
    import pandas as pd
    import xlrd
    frame = pd.DataFrame(FRAME)
    for engine in ("openpyxl", "xlsxwriter"):
        frame.to_excel(engine + ".xlsx", index=False, engine=engine)
        assert pd.read_excel(engine + ".xlsx").equals(frame)
    assert openpyxl.load_workbook("xlsxwriter.xlsx").active["A2"].value == 1
    try:
        xlrd.open_workbook("openpyxl.xlsx")
    except xlrd.XLRDError as e:
        assert "xlsx" in str(e)


@library
def sqlite():
    import sqlite3
    import pandas as pd
    base = sqlite3.connect("frame.db")
    pd.DataFrame(FRAME).to_sql("t", base, index=False)
    assert pd.read_sql("select sum(n) n from t", base).n[0] == 6


@library
def scipy():
    import scipy.sparse.linalg
    from scipy import integrate, interpolate, optimize, signal, sparse, stats
    assert abs(optimize.minimize(lambda x: (x[0] - 3) ** 2, [0.0]).x[0] - 3) < 1e-4
    assert list(sparse.linalg.spsolve(sparse.csc_matrix(sparse.eye(2)), [1, 2])) \
        == [1, 2]
    assert abs(integrate.quad(lambda x: x, 0, 1)[0] - 0.5) < 1e-9
    assert round(stats.norm.cdf(1.96), 3) == 0.975
    interpolate.CubicSpline([0, 1, 2], [0, 1, 4])(1.5)
    signal.butter(2, 0.5)


@library
def sklearn():
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_iris
    from sklearn.decomposition import PCA
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    x, y = load_iris(return_X_y=True)
    near, far, near_y, far_y = train_test_split(x, y, random_state=0)
    for model in (make_pipeline(StandardScaler(), LogisticRegression()),
                  RandomForestClassifier(10, random_state=0), SVC()):
        assert model.fit(near, near_y).score(far, far_y) > 0.9
    KMeans(3, n_init=1, random_state=0).fit(x)
    PCA(2).fit(x)


@library
def matplotlib():
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots()
    axes.plot([1, 4, 9], label="$\\alpha^2$")
    axes.set_title("Größe")
    axes.legend()
    for kind, head in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml"),
                       ("jpg", b"\xff\xd8")):
        figure.savefig("figure." + kind)
        with open("figure." + kind, "rb") as f:
            assert f.read(8).startswith(head), kind


@library
def matplotlib_in_other_scripts():
    import warnings
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots()
    axes.plot([1, 4, 9], label="売上")
    axes.set_title("매출 销售 Größe")
    axes.legend()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a character that no font has
        for kind in "png", "pdf", "svg":
            figure.savefig("figure." + kind)


@library
def seaborn():
    import pandas as pd
    import seaborn as sns
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": [1, 4, 9, 16], "g": list("aabb")})
    sns.lineplot(data=frame, x="x", y="y", hue="g").figure.savefig("seaborn.png")


@library
def sympy():
    import sympy
    x = sympy.symbols("x")
    assert sympy.solve(x ** 2 - 2) == [-sympy.sqrt(2), sympy.sqrt(2)]
    assert sympy.lambdify(x, sympy.diff(x ** 3), "numpy")(2) == 12


@library
def pillow():
    from PIL import Image, ImageDraw, ImageFont
    image = Image.new("RGB", (64, 64), "red")
    ImageDraw.Draw(image).text((1, 1), "hi", font=ImageFont.truetype(
        "DejaVuSans.ttf", 12))
    for kind in ("png", "jpg", "gif", "webp", "tiff"):
        image.save("image." + kind)
        assert Image.open("image." + kind).size == (64, 64), kind


@library
def plotly():
    import plotly.express as px
    import plotly.graph_objects as go
    go.Figure(go.Scatter(x=[1, 2], y=[3, 4])).write_html("plotly.html")
    assert "bar" in px.bar(x=[1, 2], y=[3, 4]).to_json()


@library
def networkx():
    import networkx
    graph = networkx.karate_club_graph()
    assert networkx.shortest_path(graph, 0, 33) == [0, 8, 33]
    networkx.pagerank(graph)


@library
def pages():
    import bs4
    import jinja2
    import lxml.etree
    import tabulate
    import yaml
    assert lxml.etree.fromstring("<a><b/></a>").xpath("//b")
    assert bs4.BeautifulSoup("<p>a <b>x</b>", "lxml").b.text == "x"
    assert jinja2.Template("{{ x }}").render(x=1) == "1"
    assert tabulate.tabulate([[1]], headers="a")
    assert yaml.safe_load(yaml.dump({"a": [1]})) == {"a": [1]}


@library
def requests():
    import requests
    try:
        requests.get("https://example.org", timeout=9)
    except requests.ConnectionError:
        return
    raise AssertionError("a machine has reached a network")


@library
def documents():
    import docx
    import pypdf
    document = docx.Document()
    document.add_paragraph("text")
    document.add_picture("figure.png")
    document.save("document.docx")
    assert docx.Document("document.docx").paragraphs[0].text == "text"
    assert len(pypdf.PdfReader("figure.pdf").pages) == 1


@library
def commands():
    def said(*words):
        return subprocess.run(words, capture_output=True, text=True,
                              check=True).stdout
    said("sh", "-c", "git init -q r && cd r && touch f && git add f && "
         "git -c user.name=a -c user.email=a@b commit -qm one && git clone -q . ../c")
    assert said("git", "-C", "c", "log", "--format=%s") == "one\n"
    assert said("curl", "--version").startswith("curl ")
    assert said("node", "-p", "typeof require('axios').get") == "function\n"


@library
def modules():
    """What has a name for others is imported: it needs nothing that the layer leaves
    out."""
    missing = []
    warnings.simplefilter("ignore")
    for name in ("numpy", "scipy", "sklearn", "pandas"):
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, name + ".",
                                           onerror=lambda name: None):
            if found.name in APART or any(
                    part.startswith("_") or part in ("tests", "conftest", "setup")
                    for part in found.name.split(".")):
                continue
            try:
                importlib.import_module(found.name)
            except Exception as e:
                missing.append("%s: %r" % (found.name, e))
    assert not missing, missing


def main():
    failed = 0
    for function in tried:
        try:
            function()
        except Exception:
            failed += 1
            print("%s failed" % function.__name__, flush=True)
            traceback.print_exc()
    print("%d tried, %d failed" % (len(tried), failed))
    return failed > 0


sys.exit(main())
