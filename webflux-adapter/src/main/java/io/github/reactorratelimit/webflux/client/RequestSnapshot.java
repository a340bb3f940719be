package io.github.reactorratelimit.webflux.client;

import java.net.URI;
import java.util.Map;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpRequest;
import org.springframework.web.reactive.function.client.ClientRequest;

/** A request as exceptions show it. */
record RequestSnapshot(ClientRequest request) implements HttpRequest {

    @Override
    public HttpMethod getMethod() {
        return request.method();
    }

    @Override
    public URI getURI() {
        return request.url();
    }

    @Override
    public Map<String, Object> getAttributes() {
        return request.attributes();
    }

    @Override
    public HttpHeaders getHeaders() {
        return request.headers();
    }
}
