"""`./x` setting a machine up: apt sources, missing tools, the sentences about them."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest
from x import (
    apt_sources,
    rust,
    system,
    virtual_environment,
)
from x.console import Console
from x.failure import Failure
from x.steps import Reporter

DEB822 = """\
Types: deb
# a comment inside the stanza
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""


def plain_console() -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(stream, {}), stream


def test_source_is_derived_from_the_mirror_and_key_of_a_deb822_file() -> None:
    stanza = apt_sources.derive_source(apt_sources.parse_deb822(DEB822), "bookworm", "bullseye")
    assert stanza == (
        "Types: deb\nURIs: http://mirror.example/debian\nSuites: bullseye\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )


def test_source_is_derived_from_a_one_line_file_with_options() -> None:
    text = (
        "# deb http://commented.example/debian bookworm main\n"
        "deb-src http://source.example/debian bookworm main\n"
        "deb [arch=amd64,arm64 signed-by=/keys/k.gpg] https://mirror.example/debian bookworm main contrib # why\n"
    )
    sources = apt_sources.parse_one_line(text)
    assert [source.components for source in sources] == [("main", "contrib")]
    stanza = apt_sources.derive_source(sources, "bookworm", "bullseye")
    assert stanza is not None
    assert "URIs: https://mirror.example/debian\n" in stanza
    assert "Signed-By: /keys/k.gpg\n" in stanza
    assert "Architectures: amd64 arm64\n" in stanza


def test_key_written_into_the_source_is_carried_over() -> None:
    text = (
        "Types: deb\nURIs: http://m.example/debian\nSuites: bookworm\nComponents: main\n"
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n"
    )
    stanza = apt_sources.derive_source(apt_sources.parse_deb822(text), "bookworm", "bullseye")
    assert stanza is not None
    assert "Signed-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n" in stanza


def test_disabled_security_and_foreign_sources_are_not_derived_from() -> None:
    disabled = DEB822.replace("Types: deb\n# a", "Types: deb\nEnabled: no\n# a")
    assert apt_sources.derive_source(apt_sources.parse_deb822(disabled), "bookworm", "bullseye") is None
    foreign = apt_sources.parse_one_line("deb https://packages.example nodistro main\n")
    assert apt_sources.derive_source(foreign, "bookworm", "bullseye") is None


def test_existing_suite_is_recognised() -> None:
    sources = apt_sources.parse_deb822(DEB822)
    assert apt_sources.has_suite(sources, "bookworm-updates")
    assert not apt_sources.has_suite(sources, "bullseye")


def test_all_files_of_an_apt_folder_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text("deb http://a.example/debian bookworm main\n")
    (tmp_path / "sources.list.d" / "b.sources").write_text(DEB822)
    (tmp_path / "sources.list.d" / "c.list.disabled").write_text("deb http://c.example/debian bookworm main\n")
    uris = [source.uri for source in apt_sources.read_sources(tmp_path)]
    assert uris[:2] == ["http://a.example/debian", "http://mirror.example/debian"]
    assert "http://c.example/debian" not in uris


def test_os_release_values_lose_their_quotes() -> None:
    assert apt_sources.parse_os_release('ID=debian\nVERSION_ID="12"\n# no\n') == {"ID": "debian", "VERSION_ID": "12"}


def test_pin_names_release_and_priority() -> None:
    assert apt_sources.pin_text("bullseye", 100) == "Package: *\nPin: release n=bullseye\nPin-Priority: 100\n"


def reporter() -> Reporter:
    return Reporter(plain_console()[0], "step", "[1/1]")


NIM = system.Need("Nim compiler", ("nim-that-is-not-here",), ("nim",))


def test_without_apt_the_sentence_names_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "NEEDS", (NIM,))
    monkeypatch.setattr(system.shutil, "which", lambda _command: None)
    with pytest.raises(Failure) as caught:
        system.install_system_packages(reporter())
    assert "Nim compiler is missing" in caught.value.sentence
    assert "no apt-get" in caught.value.sentence
    assert "apt-get install --no-install-recommends nim" in caught.value.fix


def test_without_rights_the_fix_is_the_exact_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "NEEDS", (NIM,))
    monkeypatch.setattr(system.shutil, "which", lambda command: "/usr/bin/apt-get" if command == "apt-get" else None)
    monkeypatch.setattr(system.os, "geteuid", lambda: 1000)
    with pytest.raises(Failure, match="may not install packages") as caught:
        system.install_system_packages(reporter())
    assert caught.value.fix == "sudo apt-get update && sudo apt-get install --no-install-recommends nim"


def test_missing_julia_lets_the_rest_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(system, "NEEDS", ())
    monkeypatch.setattr(system, "STAMPS", tmp_path)
    monkeypatch.setattr(system.shutil, "which", lambda _command: None)
    monkeypatch.delenv("AMDGPU_JULIA", raising=False)
    console, stream = plain_console()
    assert system.install_system_packages(Reporter(console, "step", "[1/1]")).endswith("without Julia")
    assert "the Math core will be off" in stream.getvalue()
    assert "julialang.org" in stream.getvalue()
    again = system.install_system_packages(Reporter(console, "step", "[1/1]"))
    assert "tries again" in again


def test_julia_switched_off_is_said_and_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "NEEDS", ())
    monkeypatch.setenv("AMDGPU_JULIA", "off")
    assert "AMDGPU_JULIA=off" in system.install_system_packages(reporter())


def test_amdgpu_julia_that_is_no_program_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "NEEDS", ())
    monkeypatch.setenv("AMDGPU_JULIA", "/no/such/julia")
    with pytest.raises(Failure, match="/no/such/julia"):
        system.install_system_packages(reporter())


def test_missing_cargo_gives_the_rustup_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    with pytest.raises(Failure) as caught:
        rust.cargo_command()
    assert "sh.rustup.rs" in caught.value.fix


def test_cargo_in_its_own_folder_is_found_without_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    cargo = tmp_path / "bin" / "cargo"
    cargo.write_text("#!/bin/sh\n")
    cargo.chmod(cargo.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    assert rust.cargo_command() == str(cargo)
    assert rust.search_path().startswith(str(tmp_path / "bin"))


def test_old_cargo_without_rustup_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rust, "find_program", lambda name: "/usr/bin/cargo" if name == "cargo" else None)
    monkeypatch.setattr(rust, "capture", lambda _command: "cargo 1.65.0")
    with pytest.raises(Failure, match=r"cargo is too old: Rust 1\.\d+ or newer"):
        rust.prepare_rust(reporter())


def test_version_numbers_are_the_first_dotted_number() -> None:
    assert rust.version_numbers("Nim Compiler Version 1.6.10 [Linux: amd64]") == (1, 6, 10)
    assert rust.version_numbers("none") == ()


def test_pins_follow_the_python_version() -> None:
    text = 'a==1 ; python_version >= "3.11"\na==2; python_version < "3.11"\n# c==9\nb==3  # why\n'
    assert virtual_environment.pinned_versions(text, (3, 10)) == {"a": "2", "b": "3"}
    assert virtual_environment.pinned_versions(text, (3, 12)) == {"a": "1", "b": "3"}


def test_cargo_keeps_nothing_for_the_next_change_in_the_first_build_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CARGO_INCREMENTAL", raising=False)
    fresh, built = tmp_path / "fresh", tmp_path / "built"
    (built / "debug").mkdir(parents=True)
    assert rust.incremental(fresh) == {"CARGO_INCREMENTAL": "0"}
    assert rust.incremental(built) == {}
    # The suites of one run are one first build.
    (fresh / "debug").mkdir(parents=True)
    assert rust.incremental(fresh) == {"CARGO_INCREMENTAL": "0"}
    monkeypatch.setenv("CARGO_INCREMENTAL", "1")
    assert rust.incremental(tmp_path / "other") == {}
