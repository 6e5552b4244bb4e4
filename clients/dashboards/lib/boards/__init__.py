"""All boards, in the order of the links between them."""
from . import dotnet, java, jvm, lttng, mono, runtimes, self, service, zorka

BOARDS = (
    runtimes.BOARD,
    java.BOARD,
    service.JAVA,
    zorka.BOARD,
    service.ZORKA,
    dotnet.BOARD,
    jvm.BOARD,
    mono.BOARD,
    lttng.BOARD,
    self.BOARD,
)
