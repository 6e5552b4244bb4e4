// The web server of Shop, with Jetty 9.
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

public class ShopWeb extends HttpServlet {
    private final Connection database;

    private ShopWeb(Connection database) {
        this.database = database;
    }

    /** Starts the server; gives its port. */
    public static int start(boolean sql) throws Exception {
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
        ServletContextHandler handler = new ServletContextHandler();
        handler.addServlet(new ServletHolder(new ShopWeb(sql ? DriverManager.getConnection(Shop.DATABASE) : null)), "/*");
        server.setHandler(handler);
        server.start();
        return connector.getLocalPort();
    }

    @Override
    public void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        switch (request.getPathInfo()) {
            case "/fail":
                throw new IllegalStateException("no such order");
            case "/none":
                response.sendError(404);
                break;
            default:
                if (database != null) {
                    Shop.lookUp(database, Integer.parseInt(request.getParameter("id")));
                }
                response.getWriter().println("item");
        }
    }
}
