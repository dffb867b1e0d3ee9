# What .ci/run needs of the machine: packages, an ordinary user, interpreters. Sourced, not run.
# shellcheck shell=bash

ci_user=privacy-risk-ci

install_packages() {
  [ "$(id -u)" = 0 ] || { echo "run as root: the checks need an ordinary user beside it" >&2; exit 2; }
  local wanted=(python3 python3-venv git ca-certificates chromium buildah debootstrap curl) missing=() p
  # Debian's npm brings Debian's node; where another distribution's is installed, that one will do.
  command -v npm > /dev/null || wanted+=(nodejs npm)
  for p in "${wanted[@]}"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update
    apt-get -qq install -y --no-install-recommends "${missing[@]}" > /dev/null
    echo "installed: ${missing[*]}"
  fi
  id "$ci_user" > /dev/null 2>&1 || useradd --create-home "$ci_user"
}

# The ordinary user gets the package index settings of this machine and nothing else of its environment.
as_user() {
  local keep=() name
  for name in $(compgen -e); do
    case $name in
      PIP_* | UV_* | *_proxy | *_PROXY | SSL_CERT_* | REQUESTS_CA_BUNDLE | PRIVACY_RISK_DATA | CI | LANG | LC_*)
        keep+=("$name=${!name}") ;;
    esac
  done
  (cd "$work/user/privacy-risk" && setpriv --reuid "$ci_user" --regid "$ci_user" --init-groups \
    env -i HOME="/home/$ci_user" USER="$ci_user" PATH=/usr/local/bin:/usr/bin:/bin "${keep[@]}" "$@")
}

# Supported: 3.11 to 3.14. Root tries the newest found, the ordinary user the oldest that it can reach.
choose_interpreters() {
  local v python found=() missing=()
  newest='' oldest=''
  for v in 3.11 3.12 3.13 3.14; do
    for python in "/usr/bin/python$v" "$(command -v "python$v" || true)" "$HOME"/.pyenv/versions/"$v".*/bin/python3; do
      [ -n "$python" ] && [ -x "$python" ] && "$python" -c 'import venv, ensurepip' 2> /dev/null \
        && [ "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" = "$v" ] || continue
      newest=$python
      found+=("$v: $python")
      if [ -z "$oldest" ] && as_user "$python" -c pass 2> /dev/null; then oldest=$python; fi
      break
    done
    case " ${found[*]:-} " in *" $v: "*) ;; *) missing+=("$v") ;; esac
  done
  printf 'found %s\n' "${found[@]}"
  echo "root tests with $newest, the ordinary user with $oldest"
  echo "not found and so not tested: ${missing[*]:-none}; found but not tested: those between"
  [ -n "$newest" ] && [ -n "$oldest" ] || { echo "no supported interpreter" >&2; exit 2; }
}

# The README's two commands, exactly as written there: the two fenced blocks under "Two commands".
readme_commands() {
  awk -v work="$work" '
    /^## / { inside = ($0 == "## Two commands"); next }
    inside && /^```/ { if (open) { open = 0 } else { open = 1; n += 1 }; next }
    inside && open { print > (work "/" (n == 1 ? "demo.sh" : "test.sh")) }
  ' README.md
  [ -s "$work/demo.sh" ] && [ -s "$work/test.sh" ] || { echo "README.md lacks its two commands" >&2; exit 1; }
}
