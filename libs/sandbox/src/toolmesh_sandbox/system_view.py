"""Which files of the host a sandbox shows, as bubblewrap options. Everything not named here does not exist inside.

`SYSTEM` (profiles `standard` and `restrictive`): /usr with /bin, /sbin and /lib*, and of /etc only what programs need
to load, to find host names, to check certificates and to know the time zone; one user `tool`. Not shown: home folders,
/opt, /run, /srv, /var, /mnt, /media, /boot, /sys, and every other file of /etc.

`HOST` (profile `permissive`): in addition the other top-level folders of the host and all of /etc. Still not shown:
/root, /home, /run, /var (an empty folder), /tmp, /sys, /boot, password and sudo files, private keys of /etc/ssl and
/etc/ssh, the sandbox's own base folder, and what the operator has named in `hidden`.
"""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from toolmesh_sandbox.policy import Network, Policy, SystemView

_LINKED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone", "locale.conf"),
    *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf", "crypto-policies"),
    *("pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust"),
    *("mime.types", "magic", "fonts", "protocols", "services", "gai.conf", "host.conf"),
)
_NAMES = ("passwd", "group", "nsswitch.conf")
_ETC_PRIVATE = frozenset(
    {"passwd", "passwd-", "group", "group-", "shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "ssh"}
    | {"nsswitch.conf", "hosts", "resolv.conf", "hostname", "mtab", "security", "polkit-1", "krb5.keytab", "machine-id"}
)
_NOT_SHOWN = frozenset(
    {"dev", "proc", "sys", "run", "tmp", "root", "home", "var", "boot", "lost+found", "usr", "etc", "work", *_LINKED}
)

ETC_FILES = {
    "passwd": "root:x:0:0::/:/usr/sbin/nologin\ntool:x:1000:1000::/tmp:/bin/sh\n",
    "group": "root:x:0:\ntool:x:1000:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "hosts": "127.0.0.1 localhost\n127.0.1.1 tool\n::1 localhost\n",
}
"""Files of /etc that are the same in every sandbox; published below the base folder."""


def system_arguments(policy: Policy, etc: Path, hidden: tuple[Path, ...], host: Path = Path("/")) -> list[str]:
    """Options that build /usr, /etc and for `SystemView.HOST` the rest of the tree.

    Args:
        policy: whose `system`, `network` and mount targets count.
        etc: folder with the published `ETC_FILES`.
        hidden: paths of the host that must not be seen.
        host: root of the host's tree.
    """
    arguments = ["--ro-bind", str(host / "usr"), "/usr"]
    for name in _LINKED:
        path = host / name
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), f"/{name}"]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), f"/{name}"]
    whole = policy.system is SystemView.HOST
    listed = _whole_etc(host) if whole else iter(_ETC)
    for name in (*listed, *(("resolv.conf",) if policy.network is Network.HOST else ())):
        if (host / "etc" / name).exists():
            arguments += ["--ro-bind", str(host / "etc" / name), f"/etc/{name}"]
    for name in _NAMES:
        arguments += ["--ro-bind", str(etc / name), f"/etc/{name}"]
    hosts = host / "etc/hosts" if policy.network is Network.HOST and (host / "etc/hosts").exists() else etc / "hosts"
    arguments += ["--ro-bind", str(hosts), "/etc/hosts"]
    if whole:
        targets = tuple(mount.target for mount in policy.mounts)
        for entry in sorted(host.iterdir()):
            if entry.name not in _NOT_SHOWN and not entry.is_symlink() and entry.is_dir():
                arguments += _shown(entry, host, targets, hidden)
        arguments += ["--dir", "/var"]
    return arguments + _masks(arguments, hidden)


def _whole_etc(host: Path) -> Iterator[str]:
    for entry in sorted((host / "etc").iterdir()):
        if entry.name in _ETC_PRIVATE:
            continue
        if entry.name == "ssl" and entry.is_dir():
            yield from (f"ssl/{inner.name}" for inner in sorted(entry.iterdir()) if inner.name != "private")
        else:
            yield entry.name


def _shown(folder: Path, host: Path, targets: tuple[PurePosixPath, ...], hidden: tuple[Path, ...]) -> list[str]:
    """Bind a folder, or its entries one by one where a mount has to go between them."""
    inside = PurePosixPath("/") / folder.relative_to(host)
    if inside in targets or any(folder.is_relative_to(path) for path in hidden):
        return []
    if not any(target.is_relative_to(inside) for target in targets):
        return ["--ro-bind", str(folder), str(inside)]
    arguments: list[str] = []
    for entry in sorted(folder.iterdir()):
        if not entry.is_symlink() and (entry.is_dir() or entry.is_file()):
            arguments += _shown(entry, host, targets, hidden)
    return arguments


def _masks(arguments: list[str], hidden: tuple[Path, ...]) -> list[str]:
    """Cover hidden paths that lie below a folder which is shown."""
    shown = [
        (Path(source), PurePosixPath(target))
        for option, source, target in zip(arguments, arguments[1:], arguments[2:], strict=False)
        if option == "--ro-bind"
    ]
    masks: list[str] = []
    for path in hidden:
        for source, target in shown:
            if path.is_relative_to(source) and path.exists():
                inside = str(target / path.relative_to(source))
                masks += (
                    ["--tmpfs", inside, "--remount-ro", inside] if path.is_dir() else ["--ro-bind", os.devnull, inside]
                )
    return masks
