"""Connections of peers: with TLS where APM_TLS says so, AUTHORITY or AUTHORITY:CERTIFICATE, files in PEM (with their key). Standard library only."""

import os
import socket
import ssl


def connect(address, timeout, tls=None):
    """A connection. As both agents do, it takes any certificate of the authority, whatever its names are."""
    plain = socket.create_connection(address, timeout=timeout)
    tls = os.environ.get("APM_TLS") if tls is None else tls
    if not tls:
        return plain
    authority, _, own = tls.partition(":")
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = False
    if own:
        context.load_cert_chain(own)
    if os.environ.get("APM_TLS_12"):
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context.wrap_socket(plain)
