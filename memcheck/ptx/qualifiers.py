"""The qualifiers that decide ordering, with their PTX spellings (ISA 8.4 to 8.6, 9.7.10, 9.7.15)."""

from __future__ import annotations

from enum import Enum


class Sem(Enum):
    """Semantics of a memory operation or fence. `.volatile` is RELAXED at SYS (ISA 8.4.2)."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SC = "sc"


class Scope(Enum):
    """The threads that may interact directly with a strong operation (ISA 8.5), narrowest first."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


class Space(Enum):
    """State space named by an access. GENERIC: none named, the address decides."""

    GENERIC = "generic"
    GLOBAL = "global"
    SHARED_CTA = "shared::cta"
    SHARED_CLUSTER = "shared::cluster"
    CONST = "const"
    LOCAL = "local"
    PARAM = "param"


class Proxy(Enum):
    """Method of memory access (ISA 8.6). NONCOHERENT is `ld.global.nc`, outside the text (8.1)."""

    GENERIC = "generic"
    TEXTURE = "texture"
    SURFACE = "surface"
    CONSTANT = "constant"
    READONLY = "readonly"
    NONCOHERENT = "nc"
    ASYNC = "async"
    TENSORMAP = "tensormap"


class FenceProxy(Enum):
    """What a proxy fence bridges. Tensormap, async_generic and fabric forms have one direction."""

    ALIAS = "alias"
    ASYNC = "async"
    TEXTURE = "texture"
    SURFACE = "surface"
    CONSTANT = "constant"
    TENSORMAP_GENERIC = "tensormap::generic"
    ASYNC_GENERIC = "async::generic"
    FABRIC = "fabric"
